package grpc

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/edsctl/edsctl/pkg/lb"
)

// HashPolicy is one header policy of a route's hash_policy; gRPC reads no other kind but io.grpc.channel_id.
type HashPolicy struct {
	Header              string
	Regex, Substitution string // regex_rewrite in Go's syntax: "$1", while "\1" stays as it is
	Terminal            bool
}

// RequestHash is the hash of a request (internal/xds/resolver/serviceconfig.go, generateHash): the values of each header
// joined with "," in order of appearance, rewritten, XXH64; several policies are chained by rotate and xor. Binary headers
// are skipped. A terminal policy ends the chain only if it produced a hash itself. ok is false when none did, and gRPC
// then takes a random hash. Errors: a regular expression that Go does not know.
func RequestHash(policies []HashPolicy, headers map[string][]string) (hash uint64, ok bool, err error) {
	for _, p := range policies {
		values := headers[p.Header]
		if strings.HasSuffix(p.Header, "-bin") || len(values) == 0 {
			continue
		}
		text := strings.Join(values, ",")
		if p.Regex != "" {
			re, err := regexp.Compile(p.Regex)
			if err != nil {
				return 0, false, fmt.Errorf("regex_rewrite %q: %w", p.Regex, err)
			}
			text = re.ReplaceAllString(text, p.Substitution)
		}
		hash, ok = lb.Chain(hash, lb.Sum64(text)), true
		if p.Terminal {
			break
		}
	}
	return hash, ok, nil
}
