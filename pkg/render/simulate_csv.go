package render

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/edsctl/edsctl/pkg/simulate"
)

// simulationCSV writes one row an endpoint. The columns of --requests and --rps are there when one result has them.
func simulationCSV(w io.Writer, s *Simulation, _ Options) error {
	sampled, rated := false, false
	for _, r := range s.Results {
		sampled = sampled || r.Sample != nil
		rated = rated || r.RPS > 0
	}
	out := csv.NewWriter(w)
	header := []string{"name", "file", "client", "verdict", "address", "path", "priority", "region", "zone", "sub_zone", "health_status", "class", "weight", "share"}
	if s.Before != nil {
		header = append(header, "share_before")
	}
	if rated {
		header = append(header, "rate")
	}
	if sampled {
		header = append(header, "requests", "sampled_share", "standard_error")
	}
	_ = out.Write(append(header, "why")) // the writer keeps the error
	for i, r := range s.Results {
		var before map[endpointKey]float64
		if s.Before != nil {
			before = sharesOf(s.Before[i])
		}
		for j := range r.Endpoints {
			e := &r.Endpoints[j]
			row := []string{r.Name, r.File, r.Client, r.Verdict, e.Address, e.Path, strconv.FormatUint(uint64(e.Priority), 10),
				e.Locality.Region, e.Locality.Zone, e.Locality.SubZone, e.Health, e.Class, strconv.FormatUint(uint64(e.Weight), 10), number(e.Share)}
			if s.Before != nil {
				row = append(row, number(before[keyOf(e)]))
			}
			if rated {
				row = append(row, number(e.Rate))
			}
			if sampled {
				row = append(row, sampleColumns(e)...)
			}
			_ = out.Write(append(row, e.Why))
		}
	}
	out.Flush()
	return out.Error()
}

func sampleColumns(e *simulate.Endpoint) []string {
	if e.Sampled == nil {
		return []string{"", "", ""}
	}
	return []string{strconv.FormatInt(e.Requests, 10), number(e.SampledShare), number(e.StandardError)}
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// endpointKey finds the same endpoint in two results, whose clients may spell its address differently. The address tells
// those apart that one host name was resolved to.
type endpointKey struct {
	group, index int
	resolved     string
}

func keyOf(e *simulate.Endpoint) endpointKey {
	key := endpointKey{group: e.Group, index: e.Index}
	if e.Name != "" {
		key.resolved = e.Address
	}
	return key
}

func sharesOf(r *simulate.Result) map[endpointKey]float64 {
	shares := make(map[endpointKey]float64, len(r.Endpoints))
	for i := range r.Endpoints {
		shares[keyOf(&r.Endpoints[i])] = r.Endpoints[i].Share
	}
	return shares
}
