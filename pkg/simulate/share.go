package simulate

import (
	"github.com/edsctl/edsctl/pkg/selector"
)

// Share is the share of the endpoints that a selector picks. Errors: it picks none.
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
	return sum, nil
}
