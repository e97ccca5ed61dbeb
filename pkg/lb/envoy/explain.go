package envoy

import (
	"fmt"
	"strings"
)

// whyPriority says in one line where a level's load comes from.
func (b *balancer) whyPriority(level int) string {
	c, l := b.counts[level], &b.loads
	var parts []string
	switch {
	case c.Hosts == 0:
		parts = append(parts, "no endpoints")
	case c.eligible() == 0:
		parts = append(parts, fmt.Sprintf("all %d endpoints are excluded", c.Hosts))
	default:
		parts = append(parts, fmt.Sprintf("%d of %d healthy", c.Healthy, c.eligible()))
		if c.Degraded > 0 {
			parts = append(parts, fmt.Sprintf("%d degraded", c.Degraded))
		}
		if c.Excluded > 0 {
			parts = append(parts, fmt.Sprintf("%d excluded", c.Excluded))
		}
	}
	switch {
	case l.TotalPanic:
		parts = append(parts, "total panic: load by endpoint count, to all endpoints")
	case l.Panic[level] && b.load(level, ClassHealthy)+b.load(level, ClassDegraded) > 0:
		parts = append(parts, "panic: load goes to all endpoints")
	}
	if l.Rest > 0 && level == 0 {
		parts = append(parts, "no priority scores above 0 and not all are in panic: all load stays here")
	}
	return strings.Join(parts, ", ")
}
