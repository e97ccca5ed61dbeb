package xds

import (
	"math/rand/v2"
	"time"
)

// backoff waits as Envoy's JitteredExponentialBackOffStrategy does (source/common/common/backoff_strategy.cc): a
// uniformly random time below an interval that doubles from 500 ms to 30 s.
type backoff struct {
	interval time.Duration
	rand     *rand.Rand
}

const (
	backoffBase = 500 * time.Millisecond
	backoffMax  = 30 * time.Second
)

// next is the wait before the next attempt.
func (b *backoff) next() time.Duration {
	if b.interval == 0 {
		b.interval = backoffBase
	}
	wait := time.Duration(b.rand.Int64N(int64(b.interval)))
	b.interval = min(2*b.interval, backoffMax)
	return wait
}

// reset starts anew, as the first message of a stream does.
func (b *backoff) reset() { b.interval = 0 }
