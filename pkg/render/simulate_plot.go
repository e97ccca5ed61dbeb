package render

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/go-analyze/charts"

	"github.com/edsctl/edsctl/pkg/simulate"
)

// Measures of a plot in pixels: panels of one sweep each below each other.
const (
	plotWidth   = 960
	panelHeight = 460
	plotLeft    = 84
	plotRight   = 190 // room for the legend
	plotTop     = 64
	plotBottom  = 70
	tickLength  = 5
)

// PlotFormats are the formats of Plot, which are also the suffixes of files.
func PlotFormats() []string { return []string{charts.ChartOutputSVG, charts.ChartOutputPNG} }

// Plot draws the curves, one panel each: shares of all requests in percent over failed endpoints in percent, with the
// region where a priority is in panic shaded.
func (s *Sweeps) Plot(w io.Writer, format string) error {
	if len(s.Sweeps) == 0 {
		return errors.New("there is no curve to plot")
	}
	p := charts.NewPainter(charts.PainterOptions{OutputFormat: format, Width: plotWidth, Height: panelHeight * len(s.Sweeps)})
	p.FilledRect(0, 0, plotWidth, panelHeight*len(s.Sweeps), charts.ColorWhite, charts.ColorTransparent, 0)
	for i, sweep := range s.Sweeps {
		panel{p, i * panelHeight}.draw(sweep)
	}
	data, err := p.Bytes()
	if err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	_, err = w.Write(data)
	return err
}

// panel is the part of the canvas that begins at a height.
type panel struct {
	*charts.Painter
	top int
}

// plotColors tell priorities apart, also for readers who do not see all colours (after Okabe and Ito).
func plotColors() []charts.Color {
	return []charts.Color{
		charts.ColorFromHex("#0072b2"), charts.ColorFromHex("#e69f00"), charts.ColorFromHex("#009e73"),
		charts.ColorFromHex("#cc79a7"), charts.ColorFromHex("#56b4e9"), charts.ColorFromHex("#8c6d31"),
	}
}

func colorOf(name string, i int) charts.Color {
	switch name {
	case "unavailable":
		return charts.ColorFromHex("#d62728")
	case "dropped":
		return charts.ColorFromHex("#7f7f7f")
	}
	colors := plotColors()
	return colors[i%len(colors)]
}

func ink(size float64) charts.FontStyle {
	return charts.FontStyle{FontSize: size, FontColor: charts.ColorFromHex("#333333")}
}

func (p panel) draw(s *simulate.Sweep) {
	p.text(fmt.Sprintf("%s (%s): requests while %s fails", printable(s.Name), s.Client, printable(s.Selector)), plotLeft, 32, ink(15))
	for _, r := range panicRanges(s) {
		p.shade(s, r)
	}
	p.axes()
	lines := seriesOf(s)
	for i, line := range lines {
		points := make([]charts.Point, len(line.values))
		for j, v := range line.values {
			points[j] = charts.Point{X: p.x(s.Points[j].Percent), Y: p.y(v)}
		}
		color := colorOf(line.name, i)
		p.LineStroke(points, color, 2.5)
		if len(points) <= 30 {
			for _, at := range points {
				p.FilledRect(at.X-3, at.Y-3, at.X+3, at.Y+3, color, charts.ColorTransparent, 0)
			}
		}
	}
	p.legend(lines, len(panicRanges(s)) > 0)
}

// x and y place percentages on the canvas.
func (p panel) x(percent float64) int {
	return plotLeft + int(math.Round(percent/100*float64(plotWidth-plotLeft-plotRight)))
}

func (p panel) y(percent float64) int {
	height := float64(panelHeight - plotTop - plotBottom)
	return p.top + plotTop + int(math.Round((100-percent)/100*height))
}

func (p panel) text(s string, x, y int, style charts.FontStyle) { p.Text(s, x, p.top+y, 0, style) }

// centred writes a text with its middle at x.
func (p panel) centred(s string, x, y int, style charts.FontStyle) {
	p.text(s, x-p.MeasureText(s, 0, style).Width()/2, y, style)
}

func panicColor() charts.Color { return charts.ColorFromHex("#fde2c4") }

// shade fills a panic region, half a step beyond its first and last point.
func (p panel) shade(s *simulate.Sweep, r [2]float64) {
	half := 50.0 / float64(max(len(s.Points)-1, 1))
	from, to := math.Max(0, r[0]-half), math.Min(100, r[1]+half)
	p.FilledRect(p.x(from), p.y(100), p.x(to), p.y(0), panicColor(), charts.ColorTransparent, 0)
}

// axes draws the frame with a grid, ticks, numbers, titles and units.
func (p panel) axes() {
	grid, frame := charts.ColorFromHex("#dddddd"), charts.ColorFromHex("#555555")
	small := ink(11)
	for v := 0.0; v <= 100; v += 20 {
		label := fmt.Sprintf("%.0f", v)
		p.LineStroke([]charts.Point{{X: p.x(0), Y: p.y(v)}, {X: p.x(100), Y: p.y(v)}}, grid, 1)
		p.LineStroke([]charts.Point{{X: p.x(0) - tickLength, Y: p.y(v)}, {X: p.x(0), Y: p.y(v)}}, frame, 1)
		width := p.MeasureText(label, 0, small).Width()
		p.Text(label, p.x(0)-tickLength-4-width, p.y(v)+5, 0, small)
	}
	for v := 0.0; v <= 100; v += 10 {
		p.LineStroke([]charts.Point{{X: p.x(v), Y: p.y(0)}, {X: p.x(v), Y: p.y(0) + tickLength}}, frame, 1)
		p.centred(fmt.Sprintf("%.0f", v), p.x(v), p.y(0)-p.top+tickLength+16, small)
	}
	p.LineStroke([]charts.Point{{X: p.x(0), Y: p.y(100)}, {X: p.x(0), Y: p.y(0)}, {X: p.x(100), Y: p.y(0)}}, frame, 1.5)
	p.centred("failed endpoints of the selection (%)", p.x(50), panelHeight-20, ink(12))
	title := "share of all requests (%)"
	length := p.MeasureText(title, 0, ink(12)).Width()
	p.Text(title, 30, p.y(50)+length/2, -math.Pi/2, ink(12))
}

func (p panel) legend(lines []series, panicking bool) {
	x, y := plotWidth-plotRight+20, plotTop+10
	entry := func(name string, draw func(y int)) {
		draw(p.top + y - 4)
		p.text(name, x+34, y, ink(12))
		y += 24
	}
	for i, line := range lines {
		entry(line.name, func(at int) {
			p.LineStroke([]charts.Point{{X: x, Y: at}, {X: x + 26, Y: at}}, colorOf(line.name, i), 2.5)
		})
	}
	if panicking {
		entry("in panic", func(at int) {
			p.FilledRect(x, at-7, x+26, at+7, panicColor(), charts.ColorTransparent, 0)
		})
	}
}
