package xds

import (
	"maps"
	"slices"
	"time"
)

// deadline is the next time at which tick has something to do; zero: never.
func (s *session) deadline() time.Time {
	var next time.Time
	if s.follow {
		next = s.warm.deadline()
	}
	for _, t := range s.ttl {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	return next
}

// tick lets the clock work: clusters stop waiting for their assignment, resources with a TTL run out. Envoy keeps the
// endpoints of an expired assignment and sends nothing; the names are returned for the user.
func (s *session) tick(now time.Time) (expired []string) {
	if s.follow && s.warm.expire(now) {
		s.afterWarming()
	}
	for _, name := range slices.Sorted(maps.Keys(s.ttl)) {
		if !now.Before(s.ttl[name]) {
			delete(s.ttl, name)
			s.eds.drop(name)
			expired = append(expired, name)
		}
	}
	return expired
}
