package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/edsctl/edsctl/pkg/simulate"
)

// Widths of the table, which fits 80 columns.
const (
	pageWidth = 80
	nameWidth = 42
	barWidth  = 10
)

// simulationTable writes for people: what holds for the assignment, then its shares by priority and locality.
func simulationTable(w io.Writer, s *Simulation, o Options) error {
	t := simulationWriter{Writer: bufio.NewWriter(w), palette: palette(o.Color), bars: o.Terminal}
	for i, columns := range s.columnGroups() {
		if i > 0 {
			t.printf("\n")
		}
		t.group(columns, s.Before != nil)
	}
	return t.Flush()
}

type simulationWriter struct {
	*bufio.Writer // keeps the first error until Flush
	palette
	bars bool
}

func (t *simulationWriter) printf(format string, args ...any) { fmt.Fprintf(t.Writer, format, args...) }

func (t *simulationWriter) group(columns []column, compared bool) {
	t.title(columns[0].result)
	for i, c := range columns {
		if compared && i == 0 {
			continue // the head is that of the state after
		}
		t.head(c.result)
	}
	rows := tree(columns, compared)
	if len(rows) > 0 {
		t.printf("\n")
		t.table(columns, rows, compared)
	}
	for i, c := range columns {
		if !compared || i > 0 {
			t.keys(c.result, len(columns) > 1 && !compared)
			t.steps(c.result, len(columns) > 1 && !compared)
		}
	}
}

func (t *simulationWriter) title(r *simulate.Result) {
	title := r.Name
	if title == "" {
		title = "(no name)"
	}
	t.printf("%s  %s\n", t.paint(printable(title), bold), t.paint(printable(where(r)), dim))
}

func where(r *simulate.Result) string {
	place := r.File
	if r.Line > 0 {
		place = fmt.Sprintf("%s:%d", r.File, r.Line)
	}
	if r.Cluster != nil {
		place += fmt.Sprintf(" (%s cluster %s)", r.Cluster.Type, r.Cluster.Name)
	}
	return place
}

// head says what holds for all endpoints.
func (t *simulationWriter) head(r *simulate.Result) {
	policy := r.Policy
	if policy == "" {
		policy = "no policy"
	}
	verdict := t.paint(r.Verdict, green)
	if !r.Accepted() {
		verdict = t.paint(r.Verdict, bold, red)
	}
	t.printf("%s: %s, %s, %s\n", t.paint(r.Client, bold), policy, verdict, r.Method)
	if r.Message != "" {
		t.wrapped("  ", printable(r.Message))
	}
	for _, d := range r.Drops {
		t.printf("  drop %s: %s of all requests (configured %s)%s\n", printable(d.Category), percent(d.Share), percent(d.Configured), rate(d.Rate, r.RPS))
	}
	if len(r.Drops) > 1 {
		t.printf("  dropped in all: %s%s\n", percent(r.Dropped), rate(r.Dropped*r.RPS, r.RPS))
	}
	if r.Unavailable > 0 {
		t.printf("  %s%s\n", t.paint("unavailable: "+percent(r.Unavailable), red), rate(r.Unavailable*r.RPS, r.RPS))
	}
	if r.Panic {
		t.printf("  %s\n", t.paint("total panic: every priority is in panic, health is ignored", yellow))
	}
	if r.ZoneAware.Mode != "off" {
		t.wrapped("  ", "zone-aware routing "+r.ZoneAware.Mode+": "+r.ZoneAware.Reason)
	}
	if r.Subset != nil {
		t.wrapped("  ", strings.TrimSuffix(fmt.Sprintf("subset: %s, %s: %s", r.Subset.Kind, plural(r.Subset.Hosts, "endpoint"), r.Subset.Reason), ": "))
	}
	for i := range r.Priorities {
		t.wrapped("  ", priorityLine(&r.Priorities[i]))
	}
	if s := r.Sample; s != nil {
		t.printf("  %d seeded requests (seed %d): %d dropped, %d unavailable\n", s.Requests, s.Seed, s.Dropped, s.Unavailable)
	}
	for _, note := range r.Notes {
		t.wrapped("  note: ", printable(note))
	}
}

// priorityLine is the reason for a priority's share.
func priorityLine(p *simulate.Priority) string {
	line := fmt.Sprintf("priority %d: ", p.Priority)
	if a := p.Availability; a != nil {
		line += fmt.Sprintf("availability %s, ", percents(*a))
	}
	line += fmt.Sprintf("load %s", percents(p.Load))
	if p.Panic {
		line += ", panic"
	}
	if p.Why != "" {
		line += " (" + p.Why + ")"
	}
	return line
}

func percents(p simulate.Percents) string {
	if p.Degraded == 0 {
		return fmt.Sprintf("%d%%", p.Healthy)
	}
	return fmt.Sprintf("%d%% + %d%% degraded", p.Healthy, p.Degraded)
}

func rate(perSecond, rps float64) string {
	if rps == 0 {
		return ""
	}
	return fmt.Sprintf(", %.4g requests/s", perSecond)
}

// wrapped writes a text within the page, its later lines under the first.
func (t *simulationWriter) wrapped(prefix, s string) {
	indent := strings.Repeat(" ", len(prefix))
	for i, line := range strings.Split(text.WrapSoft(s, pageWidth-len(prefix)), "\n") {
		if i > 0 {
			prefix = indent
		}
		t.printf("%s%s\n", prefix, strings.TrimRight(line, " "))
	}
}

// table writes the tree. One column of shares leaves room for bars, rates or samples; several are set side by side.
func (t *simulationWriter) table(columns []column, rows []shareRow, compared bool) {
	out := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	out.SetStyle(style)
	single := columns[0].result
	plain := len(columns) == 1
	header := table.Row{"endpoint", "health", "weight"}
	for _, c := range columns {
		if plain {
			header = append(header, "share")
			continue
		}
		header = append(header, c.title)
	}
	if compared {
		header = append(header, "points")
	}
	rated, sampled := plain && single.RPS > 0, plain && single.Sample != nil
	if rated {
		header = append(header, "requests/s")
	}
	if sampled {
		header = append(header, "sampled")
	}
	bars := plain && t.bars && !rated && !sampled
	out.AppendHeader(header)
	right := make([]table.ColumnConfig, 0, len(header))
	for i := range header {
		c := table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight}
		if i < 2 {
			c.Align, c.AlignHeader = text.AlignLeft, text.AlignLeft
		}
		if i == 0 {
			c.WidthMax, c.WidthMaxEnforcer = nameWidth, text.WrapHard
		}
		right = append(right, c)
	}
	if bars {
		right = append(right, table.ColumnConfig{Number: len(header) + 1, Align: text.AlignLeft})
	}
	out.SetColumnConfigs(right)
	for _, row := range rows {
		out.AppendRow(t.cells(columns, row, compared, rated, sampled, bars))
	}
	for _, line := range strings.Split(out.Render(), "\n") {
		t.printf("%s\n", strings.TrimRight(line, " "))
	}
}

func (t *simulationWriter) cells(columns []column, row shareRow, compared, rated, sampled, bars bool) table.Row {
	name := strings.Repeat("  ", row.depth) + printable(row.name)
	if row.depth == 0 {
		name = t.paint(name, bold)
	}
	cells := table.Row{name, row.health, row.weight}
	for i, share := range row.shares {
		shown := columns[i].cell(share)
		if share == 0 {
			shown = t.paint(shown, dim)
		}
		cells = append(cells, shown)
	}
	if compared {
		cells = append(cells, points(row.shares[1]-row.shares[0]))
	}
	if rated {
		cells = append(cells, fmt.Sprintf("%.4g", row.shares[0]*columns[0].result.RPS))
	}
	if sampled {
		cell := ""
		if e := row.endpoint; e != nil && e.Sampled != nil {
			cell = fmt.Sprintf("%s ±%s", percent(e.SampledShare), strings.TrimSuffix(percent(e.StandardError), "%"))
		}
		cells = append(cells, cell)
	}
	if bars {
		cells = append(cells, t.paint(bar(row.shares[0], barWidth), cyan))
	}
	return cells
}

// keys shows where the hash keys go.
func (t *simulationWriter) keys(r *simulate.Result, named bool) {
	if len(r.Keys) == 0 {
		return
	}
	t.printf("\nkeys%s\n", of(r, named))
	for _, k := range r.Keys {
		address := k.Address
		if address == "" {
			address = "no endpoint"
		}
		t.printf("  %-24s %20d  %s\n", printable(k.Key), k.Hash, printable(address))
	}
}

// steps shows the computation.
func (t *simulationWriter) steps(r *simulate.Result, named bool) {
	if len(r.Steps) == 0 {
		return
	}
	t.printf("\ncomputation%s\n", of(r, named))
	for i, s := range r.Steps {
		t.wrapped(fmt.Sprintf("  %2d. %s: ", i+1, s.Stage), printable(s.Text))
	}
}

func of(r *simulate.Result, named bool) string {
	if !named {
		return ""
	}
	return " of " + r.Client
}
