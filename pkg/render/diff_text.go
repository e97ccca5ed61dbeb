package render

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/edsctl/edsctl/pkg/diff"
)

// maxShifts bounds how many endpoints and localities the traffic of a text or markdown shows; JSON has all.
const maxShifts = 20

// diffText writes the changes and their effect for people; nothing when the sides are the same.
func diffText(w io.Writer, d *Diff, o Options) error {
	t := diffWriter{simulationWriter{Writer: bufio.NewWriter(w), palette: palette(o.Color)}}
	first := true
	for i := range d.Assignments {
		a := &d.Assignments[i]
		if a.Same() {
			continue
		}
		if !first {
			t.printf("\n")
		}
		first = false
		t.assignment(a)
	}
	return t.Flush()
}

type diffWriter struct{ simulationWriter }

func (t *diffWriter) assignment(a *DiffAssignment) {
	t.printf("%s  %s\n", t.paint(printable(a.Name), bold), plural(len(a.Changes), "change"))
	for i := range a.Changes {
		c := &a.Changes[i]
		mark := changeMark(c)
		colour := map[string]string{"+": green, "-": red, "~": yellow}[mark]
		t.printf("  %s %s  %s\n", t.paint(mark, colour), printable(changeSubject(c)), printable(changeWords(c)))
	}
	for i := range a.Traffic {
		t.traffic(&a.Traffic[i])
	}
	for _, f := range a.Findings {
		t.printf("\n%s: %s %s\n", t.severity(f.Severity), printable(f.Message), t.paint("["+f.Rule+"]", dim))
	}
}

func (t *diffWriter) traffic(s *diff.Traffic) {
	t.printf("\ntraffic (%s, %s)\n", s.Client, policies(s))
	if shift := verdictShift(s); shift != "" {
		t.wrapped("  ", printable(shift))
	}
	rows, left := shiftRows(s, maxShifts)
	if len(rows) == 0 && s.Others.Count == 0 {
		t.printf("  the same shares as before\n")
	}
	t.shifts(rows)
	if left > 0 {
		t.printf("  and %s more\n", plural(left, "endpoint"))
	}
	if s.Others.Count > 0 {
		t.printf("  and %s by less than 0.005 points each, %s in all\n", plural(s.Others.Count, "other endpoint"), signed(s.Others.Delta))
	}
	if s.KeysMoved != nil {
		t.printf("  %s of the hash keys move to another endpoint\n", percent(*s.KeysMoved))
	}
	for _, note := range s.Notes {
		t.wrapped("  note: ", printable(note))
	}
}

// shiftNameWidth leaves room for the three columns of numbers within the page.
const shiftNameWidth = 42

func (t *diffWriter) shifts(rows []shiftRow) {
	if len(rows) == 0 {
		return
	}
	out := plainTable("  ", "")
	out.SetColumnConfigs([]table.ColumnConfig{
		{Number: 1, WidthMax: shiftNameWidth, WidthMaxEnforcer: text.WrapHard},
		{Number: 2, Align: text.AlignRight, AlignHeader: text.AlignRight},
		{Number: 3, Align: text.AlignRight, AlignHeader: text.AlignRight},
		{Number: 4, Align: text.AlignRight, AlignHeader: text.AlignRight},
	})
	out.AppendHeader(table.Row{"", "before", "after", "points"})
	for _, r := range rows {
		out.AppendRow(table.Row{printable(r.name), percent(r.Before), percent(r.After), signed(r.Delta)})
	}
	for _, line := range strings.Split(out.Render(), "\n") {
		t.printf("%s\n", strings.TrimRight(line, " "))
	}
}

// signed is a difference of shares in percentage points: two decimals, more for one that is smaller.
func signed(delta float64) string {
	switch abs := math.Abs(delta); {
	case abs < 1e-12:
		return "0"
	case abs < 0.00005:
		return fmt.Sprintf("%+.2g", delta*100)
	default:
		return fmt.Sprintf("%+.2f", delta*100)
	}
}
