package render

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/edsctl/edsctl/pkg/simulate"
)

// Widths of the table, which fits 80 columns: names that do not fit are broken.
const (
	pageWidth      = 80
	leastNameWidth = 20
	barWidth       = 10
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
			t.keys(c.result, beforeOf(columns, compared), len(columns) > 1 && !compared)
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

// beforeOf is the state before the what-ifs, if it is compared with.
func beforeOf(columns []column, compared bool) *simulate.Result {
	if !compared {
		return nil
	}
	return columns[0].result
}

// policyWords is the policy of a result for people.
func policyWords(r *simulate.Result) string { return cmp.Or(r.Policy, "no policy") }

// head says what holds for all endpoints.
func (t *simulationWriter) head(r *simulate.Result) {
	verdict := t.paint(r.Verdict, green)
	if !r.Accepted() {
		verdict = t.paint(r.Verdict, bold, red)
	}
	t.printf("%s: %s, %s, %s\n", t.paint(r.Client, bold), policyWords(r), verdict, r.Method)
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
	for _, line := range priorityLines(r.Priorities) {
		t.wrapped("  ", line)
	}
	if s := r.Sample; s != nil {
		t.printf("  %d seeded requests (seed %d): %d dropped, %d unavailable\n", s.Requests, s.Seed, s.Dropped, s.Unavailable)
	}
	for _, note := range r.Notes {
		t.wrapped("  note: ", printable(note))
	}
}

// priorityLines has one line for the priorities of a gap, which may be very many.
func priorityLines(priorities []simulate.Priority) []string {
	var lines []string
	for i := 0; i < len(priorities); i++ {
		p := &priorities[i]
		line, end := priorityLine(p), i
		for p.Hosts == 0 && end+1 < len(priorities) && priorities[end+1].Hosts == 0 && priorityLine(&priorities[end+1]) == line {
			end++
		}
		name := fmt.Sprintf("priority %d: ", p.Priority)
		if end > i {
			name = fmt.Sprintf("priorities %d to %d: ", p.Priority, priorities[end].Priority)
		}
		lines, i = append(lines, name+line), end
	}
	return lines
}

// priorityLine is the reason for a priority's share.
func priorityLine(p *simulate.Priority) string {
	line := ""
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

// plainTable is a table without lines; left and right stand beside each cell.
func plainTable(left, right string) table.Writer {
	out := table.NewWriter()
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = left, right
	style.Format.Header = text.FormatDefault
	out.SetStyle(style)
	return out
}

// table writes the tree. One column of shares leaves room for bars; rates and samples are those of the last column.
func (t *simulationWriter) table(columns []column, rows []shareRow, compared bool) {
	out := plainTable("", "  ")
	header := table.Row{}
	for _, title := range shareHeader(columns, compared) {
		header = append(header, title)
	}
	header[0] = "endpoint"
	last := columns[len(columns)-1].result
	bars := t.bars && len(columns) == 1 && last.RPS == 0 && last.Sample == nil
	cells := make([]table.Row, len(rows))
	room := pageWidth
	for i, row := range rows {
		cells[i] = t.cells(columns, row, compared, bars)
	}
	for i := 1; i < len(header); i++ {
		width := text.StringWidthWithoutEscSequences(fmt.Sprint(header[i]))
		for _, c := range cells {
			width = max(width, text.StringWidthWithoutEscSequences(fmt.Sprint(c[i])))
		}
		room -= width + 2
	}
	if bars {
		room -= barWidth + 2
	}
	for i, row := range rows {
		name := wrapName(printable(row.name), 2*row.depth, max(room-2, leastNameWidth))
		if row.depth == 0 {
			name = t.paint(name, bold)
		}
		cells[i][0] = name
		out.AppendRow(cells[i])
	}
	out.AppendHeader(header)
	configs := make([]table.ColumnConfig, 0, len(header)+1)
	for i := range header {
		c := table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight}
		if i < 2 {
			c.Align, c.AlignHeader = text.AlignLeft, text.AlignLeft
		}
		configs = append(configs, c)
	}
	if bars {
		configs = append(configs, table.ColumnConfig{Number: len(header) + 1, Align: text.AlignLeft})
	}
	out.SetColumnConfigs(configs)
	for _, line := range strings.Split(out.Render(), "\n") {
		t.printf("%s\n", strings.TrimRight(line, " "))
	}
}

// wrapName breaks a name that is wider than the column, each line indented by its depth in the tree.
func wrapName(name string, indent, width int) string {
	prefix := strings.Repeat(" ", indent)
	return prefix + strings.ReplaceAll(text.WrapHard(name, width-indent), "\n", "\n"+prefix)
}

// shareHeader are the titles of the columns of a row; the first is empty.
func shareHeader(columns []column, compared bool) []string {
	header := []string{"", "health", "weight"}
	for _, c := range columns {
		if len(columns) == 1 {
			header = append(header, "share")
			continue
		}
		header = append(header, c.title)
	}
	last := columns[len(columns)-1].result
	if compared && pointed(last) {
		header = append(header, "points")
	}
	if last.RPS > 0 {
		header = append(header, "requests/s")
	}
	if last.Sample != nil {
		header = append(header, "sampled")
	}
	return header
}

// shareCells are the cells of a row from the first share on, as in shareHeader.
func shareCells(columns []column, row shareRow, compared bool) []string {
	var cells []string
	for i, share := range row.shares {
		cells = append(cells, columns[i].cell(share))
	}
	last := len(columns) - 1
	r := columns[last].result
	if compared && pointed(r) {
		cells = append(cells, points(row.shares[1]-row.shares[0]))
	}
	if r.RPS > 0 {
		cells = append(cells, fmt.Sprintf("%.4g", row.shares[last]*r.RPS))
	}
	if r.Sample != nil {
		cells = append(cells, sampledCell(row.endpoint, compared))
	}
	return cells
}

// pointed tells whether there is room for the difference between before and after.
func pointed(r *simulate.Result) bool { return r.RPS == 0 && r.Sample == nil }

// sampledCell is the sampled share of an endpoint, with its standard error where there is room; empty for what is none.
func sampledCell(e *simulate.Endpoint, narrow bool) string {
	switch {
	case e == nil || e.Sampled == nil:
		return ""
	case narrow:
		return percent(e.SampledShare)
	}
	return fmt.Sprintf("%s ±%s", percent(e.SampledShare), strings.TrimSuffix(percent(e.StandardError), "%"))
}

// cells are those of a row but for its name.
func (t *simulationWriter) cells(columns []column, row shareRow, compared, bars bool) table.Row {
	cells := table.Row{"", row.health, row.weight}
	for i, cell := range shareCells(columns, row, compared) {
		if i < len(row.shares) && row.shares[i] == 0 {
			cell = t.paint(cell, dim)
		}
		cells = append(cells, cell)
	}
	if bars {
		cells = append(cells, t.paint(bar(row.shares[0], barWidth), cyan))
	}
	return cells
}

// keys shows where the hash keys go, and where they went before.
func (t *simulationWriter) keys(r, before *simulate.Result, named bool) {
	if len(r.Keys) == 0 {
		return
	}
	t.printf("\nkeys%s\n", of(r, named))
	for i, k := range r.Keys {
		t.printf("  %-24s %20d  %s\n", printable(k.Key), k.Hash, printable(keyWay(r, before, i)))
	}
}

// keyWay is the endpoint of a hash key, with that of the state before where it is another one.
func keyWay(r, before *simulate.Result, i int) string {
	way := cmp.Or(r.Keys[i].Address, "no endpoint")
	if before == nil || !before.HasPick() || i >= len(before.Keys) || before.Keys[i].Address == r.Keys[i].Address {
		return way
	}
	return cmp.Or(before.Keys[i].Address, "no endpoint") + " -> " + way
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
