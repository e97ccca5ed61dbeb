package render

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/edsctl/edsctl/pkg/simulate"
)

// column is one column of shares: a client, or before and after.
type column struct {
	title  string
	result *simulate.Result
	shares map[endpointKey]float64
}

// shareRow is one line of the tree priority > locality > endpoint.
type shareRow struct {
	depth  int // 0 priority, 1 locality, 2 endpoint
	name   string
	health string
	weight string
	shares []float64 // by column
	// endpoint of the first column that has it; nil above the endpoints.
	endpoint *simulate.Endpoint
}

// tree groups the endpoints of results of the same assignment by priority and locality, both in ascending order of
// priority and of first appearance.
func tree(columns []column, compared bool) []shareRow {
	described := columns
	if compared {
		described = []column{columns[1], columns[0]} // endpoints are shown as they are afterwards
	}
	endpoints := everyEndpoint(described)
	slices.SortStableFunc(endpoints, func(a, b *simulate.Endpoint) int { return cmp.Compare(a.Priority, b.Priority) })
	var rows []shareRow
	for len(endpoints) > 0 {
		n := 1
		for n < len(endpoints) && endpoints[n].Priority == endpoints[0].Priority {
			n++
		}
		rows = append(rows, priorityRow(columns, endpoints[0].Priority))
		rows = append(rows, localityRows(columns, endpoints[:n])...)
		endpoints = endpoints[n:]
	}
	return rows
}

// everyEndpoint lists the endpoints of all columns, each once: those of the first column, then what others have more.
func everyEndpoint(columns []column) []*simulate.Endpoint {
	seen := map[endpointKey]bool{}
	var out []*simulate.Endpoint
	for _, c := range columns {
		for i := range c.result.Endpoints {
			e := &c.result.Endpoints[i]
			if !seen[keyOf(e)] {
				seen[keyOf(e)] = true
				out = append(out, e)
			}
		}
	}
	return out
}

func priorityRow(columns []column, priority uint32) shareRow {
	row := shareRow{name: fmt.Sprintf("priority %d", priority), shares: make([]float64, len(columns))}
	for i, c := range columns {
		for j := range c.result.Priorities {
			if p := &c.result.Priorities[j]; p.Priority == priority {
				row.shares[i] = p.Share
			}
		}
	}
	return row
}

func localityRows(columns []column, endpoints []*simulate.Endpoint) []shareRow {
	groups := map[simulate.LocalityID][]*simulate.Endpoint{}
	var order []simulate.LocalityID
	for _, e := range endpoints {
		if groups[e.Locality] == nil {
			order = append(order, e.Locality)
		}
		groups[e.Locality] = append(groups[e.Locality], e)
	}
	weights := localityWeights(columns, endpoints[0].Priority)
	var rows []shareRow
	for _, id := range order {
		row := shareRow{depth: 1, name: id.String(), weight: weights[id], shares: make([]float64, len(columns))}
		at := len(rows)
		rows = append(rows, row)
		for _, e := range groups[id] {
			child := shareRow{depth: 2, name: e.Address, health: e.Health, weight: fmt.Sprint(e.Weight), shares: make([]float64, len(columns)), endpoint: e}
			for i, c := range columns {
				child.shares[i] = c.shares[keyOf(e)]
				rows[at].shares[i] += child.shares[i]
			}
			rows = append(rows, child)
		}
	}
	return rows
}

// localityWeights are the weights of the localities of a priority, those of the last column that has one.
func localityWeights(columns []column, priority uint32) map[simulate.LocalityID]string {
	out := map[simulate.LocalityID]string{}
	for _, c := range columns {
		for i := range c.result.Priorities {
			if c.result.Priorities[i].Priority != priority {
				continue
			}
			for _, l := range c.result.Priorities[i].Localities {
				if l.Weight > 0 {
					out[l.LocalityID] = fmt.Sprint(l.Weight)
				}
			}
		}
	}
	return out
}

// columnGroups puts together what is shown side by side: the clients of one assignment, and before and after of each.
func (s *Simulation) columnGroups() [][]column {
	var groups [][]column
	for i, r := range s.Results {
		if s.Before != nil {
			groups = append(groups, []column{newColumn("before", s.Before[i]), newColumn("after", r)})
			continue
		}
		// Rates and samples take the room of other clients.
		if last := len(groups) - 1; last >= 0 && r.RPS == 0 && r.Sample == nil {
			if first := groups[last][0].result; len(groups[last]) == 1 && first.Client != r.Client && first.Name == r.Name && first.File == r.File && first.Line == r.Line {
				groups[last] = append(groups[last], newColumn(r.Client, r))
				continue
			}
		}
		groups = append(groups, []column{newColumn(r.Client, r)})
	}
	return groups
}

// cell is a share in a column; "-" where the client does not take the assignment.
func (c column) cell(share float64) string {
	if len(c.result.Endpoints) == 0 {
		return "-"
	}
	return percent(share)
}

func newColumn(title string, r *simulate.Result) column { return column{title, r, sharesOf(r)} }
