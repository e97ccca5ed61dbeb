package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/edsctl/edsctl/pkg/xds"
)

// statusColumn is the one that may be painted.
const statusColumn = 4

// ClientConfigs writes what xDS clients hold as a table: every resource with its status and, when it was refused, why.
// With names only those resources are shown.
func ClientConfigs(w io.Writer, configs []xds.ClientConfig, names []string, o Options) error {
	p := palette(o.Color)
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "CLIENT\tSCOPE\tTYPE\tNAME\tSTATUS\tVERSION\tUPDATED\tERROR")
	for _, c := range configs {
		for _, r := range c.Resources {
			if len(names) > 0 && !slices.Contains(names, r.Name) {
				continue
			}
			reason := "-"
			if r.Error != "" {
				first, _, _ := strings.Cut(r.Error, "\n")
				reason = fmt.Sprintf("version %q: %s", r.FailedVersion, first)
			}
			updated := "-"
			if !r.LastUpdated.IsZero() {
				updated = r.LastUpdated.UTC().Format(time.RFC3339)
			}
			status := r.Status
			if status == "NACKED" {
				status = p.paint(status, bold, red)
			}
			cells := []string{c.Node.GetId(), cmp.Or(c.Scope, "-"), shortType(r.TypeURL), r.Name, status, cmp.Or(shortVersion(r.Version), "-"), updated, reason}
			for i := range cells {
				if i != statusColumn {
					cells[i] = printable(cells[i])
				}
			}
			fmt.Fprintln(tw, strings.Join(cells, "\t"))
		}
	}
	return tw.Flush()
}
