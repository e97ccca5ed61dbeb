package render

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/guptarohit/asciigraph"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/edsctl/edsctl/pkg/simulate"
)

// Sweeps are the spillover curves of a run of simulate --sweep.
type Sweeps struct {
	Sweeps []*simulate.Sweep
	// Rejected are the results of what the client does not take, so that there is no curve.
	Rejected []*simulate.Result
}

type jsonSweeps struct {
	FormatVersion string             `json:"format_version"`
	Sweeps        []*simulate.Sweep  `json:"sweeps"`
	Rejected      []*simulate.Result `json:"rejected,omitempty"`
}

// Write writes the curves in one of SimulationFormats.
func (s *Sweeps) Write(w io.Writer, format string, o Options) error {
	asJSON := func(w io.Writer) error {
		doc := jsonSweeps{formatVersion, s.Sweeps, s.Rejected}
		if doc.Sweeps == nil {
			doc.Sweeps = []*simulate.Sweep{}
		}
		return writeJSON(w, doc)
	}
	switch format {
	case "table":
		return s.table(w, o)
	case "json":
		return asJSON(w)
	case "yaml":
		return writeYAML(w, asJSON)
	case "csv":
		return s.csv(w)
	case "markdown":
		return s.markdown(w)
	}
	return fmt.Errorf("unknown output format %q: must be one of %s", format, strings.Join(SimulationFormats(), ", "))
}

// series is one line of a chart, in percent, by point of the sweep.
type series struct {
	name   string
	values []float64
}

// seriesOf are the lines of a sweep: the share of each priority, and what is dropped or finds no endpoint when that
// occurs.
func seriesOf(s *simulate.Sweep) []series {
	var out []series
	add := func(name string, always bool, value func(*simulate.SweepPoint) float64) {
		line := series{name: name}
		any := always
		for i := range s.Points {
			v := value(&s.Points[i]) * 100
			any = any || v > 0
			line.values = append(line.values, v)
		}
		if any {
			out = append(out, line)
		}
	}
	for i, p := range s.Priorities {
		add(fmt.Sprintf("priority %d", p), true, func(at *simulate.SweepPoint) float64 { return at.Shares[i] })
	}
	add("unavailable", false, func(at *simulate.SweepPoint) float64 { return at.Unavailable })
	add("dropped", false, func(at *simulate.SweepPoint) float64 { return at.Dropped })
	return out
}

// panicRanges are the stretches of the sweep, in percent failed, where a priority with traffic is in panic.
func panicRanges(s *simulate.Sweep) [][2]float64 {
	var out [][2]float64
	open := false
	for i := range s.Points {
		p := &s.Points[i]
		switch {
		case len(p.Panic) > 0 && !open:
			out = append(out, [2]float64{p.Percent, p.Percent})
			open = true
		case len(p.Panic) > 0:
			out[len(out)-1][1] = p.Percent
		default:
			open = false
		}
	}
	return out
}

// table writes a chart in characters and the points below it.
func (s *Sweeps) table(w io.Writer, o Options) error {
	t := simulationWriter{Writer: bufio.NewWriter(w), palette: palette(o.Color)}
	for i, sweep := range s.Sweeps {
		if i > 0 {
			t.printf("\n")
		}
		t.printf("%s  %s, failing %s (%s)\n\n", t.paint(printable(sweep.Name), bold), sweep.Client, printable(sweep.Selector), plural(sweep.Selected, "endpoint"))
		t.printf("%s\n\n", t.chart(sweep, o.Color))
		for _, r := range panicRanges(sweep) {
			t.printf("%s\n\n", t.paint(fmt.Sprintf("panic from %.4g%% to %.4g%% failed: health is ignored", r[0], r[1]), yellow))
		}
		t.points(sweep)
	}
	for i, r := range s.Rejected {
		if i > 0 || len(s.Sweeps) > 0 {
			t.printf("\n")
		}
		t.title(r)
		t.head(r)
	}
	return t.Flush()
}

// chart draws the lines. Without colour each has a character of its own.
func (t *simulationWriter) chart(s *simulate.Sweep, color bool) string {
	lines := seriesOf(s)
	data := make([][]float64, len(lines))
	names := make([]string, len(lines))
	for i, line := range lines {
		data[i], names[i] = line.values, line.name
		if len(line.values) == 1 {
			data[i] = append(data[i], line.values[0])
		}
	}
	options := []asciigraph.Option{
		asciigraph.Height(10), asciigraph.Width(64), asciigraph.LowerBound(0), asciigraph.UpperBound(100), asciigraph.Precision(0),
		asciigraph.YAxisValueFormatter(func(v float64) string { return fmt.Sprintf("%3.0f%%", v) }),
		asciigraph.XAxisRange(0, 100), asciigraph.XAxisTickCount(6),
		asciigraph.XAxisValueFormatter(func(v float64) string { return fmt.Sprintf("%.0f%%", v) }),
	}
	if color {
		colors := []asciigraph.AnsiColor{asciigraph.Blue, asciigraph.Green, asciigraph.Cyan, asciigraph.Magenta, asciigraph.Yellow}
		var used []asciigraph.AnsiColor
		for i, name := range names {
			c := colors[i%len(colors)]
			if name == "unavailable" {
				c = asciigraph.Red
			}
			used = append(used, c)
		}
		options = append(options, asciigraph.SeriesColors(used...), asciigraph.SeriesLegends(names...))
		return asciigraph.PlotMany(data, options...) + "\n" + axisTitle
	}
	marks := []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}
	var sets []asciigraph.CharSet
	var legend []string
	for i, name := range names {
		mark := marks[i%len(marks)]
		switch name {
		case "unavailable":
			mark = "x"
		case "dropped":
			mark = "d"
		}
		sets = append(sets, asciigraph.CreateCharSet(mark))
		legend = append(legend, mark+" "+name)
	}
	options = append(options, asciigraph.SeriesChars(sets...))
	return asciigraph.PlotMany(data, options...) + "\n" + axisTitle + "\n      " + strings.Join(legend, "   ")
}

const axisTitle = "      share of all requests over failed endpoints of the selection"

func (t *simulationWriter) points(s *simulate.Sweep) {
	out := plainTable("", "  ")
	header := table.Row{"failed", ""}
	for _, p := range s.Priorities {
		header = append(header, fmt.Sprintf("P%d", p))
	}
	header = append(header, "dropped", "unavail.", "largest", "panic")
	configs := make([]table.ColumnConfig, len(header))
	for i := range header {
		configs[i] = table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight}
	}
	out.SetColumnConfigs(configs)
	out.AppendHeader(header)
	for i := range s.Points {
		p := &s.Points[i]
		row := table.Row{p.Failed, fmt.Sprintf("%.1f%%", p.Percent)}
		for _, share := range p.Shares {
			row = append(row, percent(share))
		}
		out.AppendRow(append(row, percent(p.Dropped), percent(p.Unavailable), percent(p.MaxEndpoint), panics(p)))
	}
	for _, line := range strings.Split(out.Render(), "\n") {
		t.printf("%s\n", strings.TrimRight(line, " "))
	}
}

// panics names the priorities of a point that are in panic.
func panics(p *simulate.SweepPoint) string {
	var names []string
	for _, level := range p.Panic {
		names = append(names, fmt.Sprintf("P%d", level))
	}
	return strings.Join(names, " ")
}

func (s *Sweeps) csv(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"name", "file", "client", "selector", "failed", "percent", "priority", "share", "selection", "dropped", "unavailable", "max_endpoint", "panic"})
	for _, sweep := range s.Sweeps {
		for i := range sweep.Points {
			p := &sweep.Points[i]
			for j, level := range sweep.Priorities {
				_ = out.Write([]string{sweep.Name, sweep.File, sweep.Client, sweep.Selector, strconv.Itoa(p.Failed), number(p.Percent),
					strconv.FormatUint(uint64(level), 10), number(p.Shares[j]), number(p.Selection), number(p.Dropped), number(p.Unavailable), number(p.MaxEndpoint), panics(p)})
			}
		}
	}
	out.Flush()
	return out.Error()
}

func (s *Sweeps) markdown(w io.Writer) error {
	b := bufio.NewWriter(w)
	for i, sweep := range s.Sweeps {
		if i > 0 {
			fmt.Fprintln(b)
		}
		fmt.Fprintf(b, "### %s (%s), failing %s\n\n| failed | |", escapeMarkdown(sweep.Name), sweep.Client, escapeMarkdown(sweep.Selector))
		for _, p := range sweep.Priorities {
			fmt.Fprintf(b, " P%d |", p)
		}
		fmt.Fprintf(b, " dropped | unavailable | largest | panic |\n|--:|--:|%s--:|--:|--:|---|\n", strings.Repeat("--:|", len(sweep.Priorities)))
		for j := range sweep.Points {
			p := &sweep.Points[j]
			fmt.Fprintf(b, "| %d | %.1f%% |", p.Failed, p.Percent)
			for _, share := range p.Shares {
				fmt.Fprintf(b, " %s |", percent(share))
			}
			fmt.Fprintf(b, " %s | %s | %s | %s |\n", percent(p.Dropped), percent(p.Unavailable), percent(p.MaxEndpoint), panics(p))
		}
	}
	return b.Flush()
}
