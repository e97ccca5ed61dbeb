package simulate

import (
	"github.com/edsctl/edsctl/pkg/selector"
)

// Share is the share of the endpoints that a selector picks, at most 1. Errors: it picks none.
func (r *Result) Share(s selector.Selector) (float64, error) {
	if _, err := s.Select(r.cla); err != nil {
		return 0, err
	}
	sum := 0.0
	for i := range r.Endpoints {
		e := &r.Endpoints[i]
		group := r.cla.GetEndpoints()[e.Group]
		if s.Match(group, group.GetLbEndpoints()[e.Index]) {
			sum += e.Share
		}
	}
	return min(sum, 1), nil
}

// bound takes away what adding up floating-point numbers puts on top of 1.
func (r *Result) bound() {
	r.Unavailable = min(r.Unavailable, 1)
	for i := range r.Priorities {
		p := &r.Priorities[i]
		p.Share, p.Unavailable = min(p.Share, 1), min(p.Unavailable, 1)
		for j := range p.Localities {
			p.Localities[j].Share = min(p.Localities[j].Share, 1)
		}
	}
	for i := range r.Endpoints {
		r.Endpoints[i].Share = min(r.Endpoints[i].Share, 1)
	}
}
