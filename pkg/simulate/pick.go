package simulate

import "github.com/edsctl/edsctl/pkg/lb"

// HasPick tells whether the policy sends a request hash to an endpoint, so that Pick has an answer.
func (r *Result) HasPick() bool { return r.pick != nil }

// Pick is the address of the endpoint that a request hash goes to; empty when it finds none, or when HasPick is false.
func (r *Result) Pick(hash uint64) string {
	if r.pick == nil {
		return ""
	}
	if i := r.pick(hash); i >= 0 {
		return r.Endpoints[i].Address
	}
	return ""
}

// addKeys shows where the hash keys of the options go. A key is hashed as a header's value is: XXH64.
func (s *run) addKeys() {
	if len(s.o.HashKeys) > 0 && s.result.pick == nil {
		s.result.Notes = append(s.result.Notes, "the policy does not look at a request hash: hash keys go nowhere in particular")
	}
	for _, text := range s.o.HashKeys {
		hash := lb.Sum64(text)
		s.result.Keys = append(s.result.Keys, Key{Key: text, Hash: hash, Address: s.result.Pick(hash)})
	}
}
