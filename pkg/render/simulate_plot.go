package render

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/go-analyze/charts/chartdraw"
	"github.com/go-analyze/charts/chartdraw/drawing"

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
func PlotFormats() []string { return []string{plotSVG, plotPNG} }

const (
	plotSVG = "svg"
	plotPNG = "png"
)

// Plot draws the curves, one panel each: shares of all requests in percent over failed endpoints in percent, with the
// region where a priority is in panic shaded.
func (s *Sweeps) Plot(w io.Writer, format string) error {
	if len(s.Sweeps) == 0 {
		return errors.New("there is no curve to plot")
	}
	width, height := plotWidth, panelHeight*len(s.Sweeps)
	var c canvas
	switch format {
	case plotSVG:
		c.r = chartdraw.SVG(width, height)
	case plotPNG:
		c.r = chartdraw.PNG(width, height)
	default:
		return fmt.Errorf("plot: unknown format %q", format)
	}
	c.rect(0, 0, width, height, drawing.ColorWhite)
	for i, sweep := range s.Sweeps {
		panel{c, i * panelHeight}.draw(sweep)
	}
	if err := c.r.Save(w); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	return nil
}

// canvas draws the few shapes of a plot; what it draws with is reset after each.
type canvas struct{ r chartdraw.Renderer }

// point is a place on the canvas in pixels from the upper left corner.
type point struct{ x, y int }

func (c canvas) line(points []point, color drawing.Color, width float64) {
	defer c.r.ResetStyle()
	c.r.MoveTo(points[0].x, points[0].y)
	for _, to := range points[1:] {
		c.r.LineTo(to.x, to.y)
	}
	c.r.SetStrokeColor(color)
	c.r.SetStrokeWidth(width)
	c.r.Stroke()
}

func (c canvas) rect(left, top, right, bottom int, color drawing.Color) {
	defer c.r.ResetStyle()
	c.r.MoveTo(left, top)
	for _, to := range []point{{right, top}, {right, bottom}, {left, bottom}, {left, top}} {
		c.r.LineTo(to.x, to.y)
	}
	c.r.SetFillColor(color)
	c.r.Fill()
}

// write writes a text that begins at a place and runs in a direction, 0 to the right, in radians.
func (c canvas) write(s string, at point, radians, size float64) {
	defer c.r.ResetStyle()
	c.pen(size)
	if radians != 0 {
		defer c.r.ClearTextRotation()
		c.r.SetTextRotation(radians)
	}
	c.r.Text(s, at.x, at.y)
}

// widthOf measures a text in pixels.
func (c canvas) widthOf(s string, size float64) int {
	defer c.r.ResetStyle()
	c.pen(size)
	return c.r.MeasureText(s).Width()
}

func (c canvas) pen(size float64) {
	c.r.SetFont(chartdraw.GetDefaultFont())
	c.r.SetFontSize(size)
	c.r.SetFontColor(drawing.ColorFromHex("#333333"))
}

// panel is the part of the canvas that begins at a height.
type panel struct {
	canvas
	top int
}

// plotColors tell priorities apart, also for readers who do not see all colours (after Okabe and Ito).
func plotColors() []drawing.Color {
	return []drawing.Color{
		drawing.ColorFromHex("#0072b2"), drawing.ColorFromHex("#e69f00"), drawing.ColorFromHex("#009e73"),
		drawing.ColorFromHex("#cc79a7"), drawing.ColorFromHex("#56b4e9"), drawing.ColorFromHex("#8c6d31"),
	}
}

func colorOf(name string, i int) drawing.Color {
	switch name {
	case "unavailable":
		return drawing.ColorFromHex("#d62728")
	case "dropped":
		return drawing.ColorFromHex("#7f7f7f")
	}
	colors := plotColors()
	return colors[i%len(colors)]
}

func (p panel) draw(s *simulate.Sweep) {
	p.text(fmt.Sprintf("%s (%s): requests while %s fails", printable(s.Name), s.Client, printable(s.Selector)), plotLeft, 32, 15)
	for _, r := range panicRanges(s) {
		p.shade(s, r)
	}
	p.axes()
	lines := seriesOf(s)
	for i, line := range lines {
		points := make([]point, len(line.values))
		for j, v := range line.values {
			points[j] = point{p.x(s.Points[j].Percent), p.y(v)}
		}
		color := colorOf(line.name, i)
		p.line(points, color, 2.5)
		if len(points) <= 30 {
			for _, at := range points {
				p.rect(at.x-3, at.y-3, at.x+3, at.y+3, color)
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

func (p panel) text(s string, x, y int, size float64) { p.write(s, point{x, p.top + y}, 0, size) }

// centred writes a text with its middle at x.
func (p panel) centred(s string, x, y int, size float64) {
	p.text(s, x-p.widthOf(s, size)/2, y, size)
}

func panicColor() drawing.Color { return drawing.ColorFromHex("#fde2c4") }

// shade fills a panic region, half a step beyond its first and last point.
func (p panel) shade(s *simulate.Sweep, r [2]float64) {
	half := 50.0 / float64(max(len(s.Points)-1, 1))
	from, to := math.Max(0, r[0]-half), math.Min(100, r[1]+half)
	p.rect(p.x(from), p.y(100), p.x(to), p.y(0), panicColor())
}

// axes draws the frame with a grid, ticks, numbers, titles and units.
func (p panel) axes() {
	grid, frame := drawing.ColorFromHex("#dddddd"), drawing.ColorFromHex("#555555")
	for v := 0.0; v <= 100; v += 20 {
		label := fmt.Sprintf("%.0f", v)
		p.line([]point{{p.x(0), p.y(v)}, {p.x(100), p.y(v)}}, grid, 1)
		p.line([]point{{p.x(0) - tickLength, p.y(v)}, {p.x(0), p.y(v)}}, frame, 1)
		width := p.widthOf(label, 11)
		p.write(label, point{p.x(0) - tickLength - 4 - width, p.y(v) + 5}, 0, 11)
	}
	for v := 0.0; v <= 100; v += 10 {
		p.line([]point{{p.x(v), p.y(0)}, {p.x(v), p.y(0) + tickLength}}, frame, 1)
		p.centred(fmt.Sprintf("%.0f", v), p.x(v), p.y(0)-p.top+tickLength+16, 11)
	}
	p.line([]point{{p.x(0), p.y(100)}, {p.x(0), p.y(0)}, {p.x(100), p.y(0)}}, frame, 1.5)
	p.centred("failed endpoints of the selection (%)", p.x(50), panelHeight-20, 12)
	title := "share of all requests (%)"
	length := p.widthOf(title, 12)
	p.write(title, point{30, p.y(50) + length/2}, -math.Pi/2, 12)
}

func (p panel) legend(lines []series, panicking bool) {
	x, y := plotWidth-plotRight+20, plotTop+10
	entry := func(name string, draw func(y int)) {
		draw(p.top + y - 4)
		p.text(name, x+34, y, 12)
		y += 24
	}
	for i, line := range lines {
		entry(line.name, func(at int) {
			p.line([]point{{x, at}, {x + 26, at}}, colorOf(line.name, i), 2.5)
		})
	}
	if panicking {
		entry("in panic", func(at int) {
			p.rect(x, at-7, x+26, at+7, panicColor())
		})
	}
}
