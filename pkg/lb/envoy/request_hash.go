package envoy

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/edsctl/edsctl/pkg/lb"
)

// HashPolicy is one entry of RouteAction.hash_policy; one of the fields that name a source is set.
type HashPolicy struct {
	Header string
	// Regex and Substitution are regex_rewrite of a header; Substitution has \1 for groups, as RE2.
	Regex        *regexp.Regexp
	Substitution string
	Cookie       string
	// CookieTTL: a cookie that is absent is made up from the addresses of the connection.
	CookieTTL      bool
	SourceIP       bool
	QueryParameter string
	FilterState    string
	Terminal       bool
}

// Request is what hash policies look at.
type Request struct {
	Headers [][2]string // lines in order; names in lower case
	Path    string      // with the query string
	// Remote is the client's address after x-forwarded-for and the like; Local is the listener's.
	Remote, Local netip.AddrPort
	// FilterState has the hashes of hashable objects.
	FilterState map[string]uint64
}

// RequestHash is the 64-bit hash of a request (source/common/http/hash_policy.cc): the hashes of the policies are chained,
// and a terminal policy ends the chain once there is a hash. ok is false when no policy gives one; Envoy then picks at
// random. All texts are hashed with XXH64, whatever the ring uses.
func RequestHash(policies []HashPolicy, r Request) (hash uint64, ok bool) {
	for i := range policies {
		if h, has := policies[i].hash(r); has {
			hash, ok = lb.Chain(hash, h), true
		}
		if policies[i].Terminal && ok {
			break
		}
	}
	return hash, ok
}

func (p *HashPolicy) hash(r Request) (uint64, bool) {
	switch {
	case p.Header != "":
		return p.headerHash(r)
	case p.Cookie != "":
		if value := r.cookie(p.Cookie); value != "" {
			return lb.Sum64(value), true
		}
		if p.CookieTTL && r.Remote.IsValid() && r.Local.IsValid() {
			return lb.Sum64(GeneratedCookie(r.Remote, r.Local)), true
		}
	case p.SourceIP:
		if r.Remote.IsValid() {
			return lb.Sum64(r.Remote.Addr().String()), true
		}
	case p.QueryParameter != "":
		if value, ok := r.query(p.QueryParameter); ok {
			return lb.Sum64(value), true
		}
	case p.FilterState != "":
		h, ok := r.FilterState[p.FilterState]
		return h, ok
	}
	return 0, false
}

// headerHash sorts the values of a header and hashes each with the hash of the one before as seed.
func (p *HashPolicy) headerHash(r Request) (uint64, bool) {
	values := r.header(strings.ToLower(p.Header))
	if len(values) == 0 {
		return 0, false
	}
	if p.Regex != nil {
		template := goTemplate(p.Substitution)
		for i := range values {
			values[i] = p.Regex.ReplaceAllString(values[i], template)
		}
	}
	slices.Sort(values)
	hash := uint64(0)
	for _, v := range values {
		hash = lb.Sum64Seed(v, hash)
	}
	return hash, true
}

// header returns the values of a header; those that Envoy stores inline are one, joined by commas (observed).
func (r Request) header(name string) []string {
	var values []string
	for _, line := range r.Headers {
		if strings.ToLower(line[0]) == name {
			values = append(values, line[1])
		}
	}
	if len(values) > 1 && joinedHeader(name) {
		return []string{strings.Join(values, ",")}
	}
	return values
}

func joinedHeader(name string) bool {
	switch name {
	case "accept", "accept-encoding", "authorization", "cache-control", "content-type", "grpc-timeout", "origin", "referer",
		"user-agent", "via", "x-client-trace-id", "x-forwarded-proto", "x-request-id":
		return true
	}
	return false
}

// cookie is the value of the first cookie with a name, without the quotes around it (Utility::parseCookieValue).
func (r Request) cookie(name string) string {
	for _, line := range r.Headers {
		if strings.ToLower(line[0]) != "cookie" {
			continue
		}
		for part := range strings.SplitSeq(line[1], ";") {
			key, value, found := strings.Cut(strings.TrimLeft(part, " \t"), "=")
			if !found || key != name {
				continue
			}
			if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
				value = value[1 : len(value)-1]
			}
			return value
		}
	}
	return ""
}

// query is the first value of a parameter, not decoded; one without "=" is empty.
func (r Request) query(name string) (string, bool) {
	_, query, ok := strings.Cut(r.Path, "?")
	if !ok {
		return "", false
	}
	query, _, _ = strings.Cut(query, "#")
	for part := range strings.SplitSeq(query, "&") {
		if key, value, _ := strings.Cut(part, "="); key == name {
			return value, true
		}
	}
	return "", false
}

// GeneratedCookie is the cookie that Envoy makes up for a connection: 16 digits of the hash of both addresses.
func GeneratedCookie(remote, local netip.AddrPort) string {
	return fmt.Sprintf("%016x", lb.Sum64(remote.String()+local.String()))
}

// goTemplate turns RE2's \1 into Go's ${1}.
func goTemplate(substitution string) string {
	var b strings.Builder
	for i := 0; i < len(substitution); i++ {
		switch c := substitution[i]; {
		case c == '$':
			b.WriteString("$$")
		case c == '\\' && i+1 < len(substitution):
			i++
			if d := substitution[i]; d >= '0' && d <= '9' {
				b.WriteString("${" + string(d) + "}")
			} else {
				b.WriteByte(d)
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
