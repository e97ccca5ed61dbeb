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
	} else if len(s.waiting) > 0 {
		next = s.patience
	}
	for _, t := range s.ttl {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	return next
}

// tick lets the clock work: names wait no longer for their first assignment (stalled), resources with a TTL run out
// (expired). Envoy keeps the endpoints of an expired assignment and sends nothing; both are for the user.
func (s *session) tick(now time.Time) (expired, stalled []string) {
	switch {
	case s.follow:
		if stalled = s.warm.expire(now); len(stalled) > 0 {
			s.afterWarming()
		}
	case !s.patience.IsZero() && !now.Before(s.patience):
		s.patience = time.Time{}
		stalled = slices.Sorted(maps.Keys(s.waiting))
		clear(s.waiting)
	}
	for _, name := range slices.Sorted(maps.Keys(s.ttl)) {
		if !now.Before(s.ttl[name]) {
			delete(s.ttl, name)
			s.eds.drop(name)
			expired = append(expired, name)
		}
	}
	return expired, stalled
}
