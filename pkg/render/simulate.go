package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/edsctl/edsctl/pkg/simulate"
)

// Simulation is what a run of simulate computed.
type Simulation struct {
	Results []*simulate.Result
	// Before are the results without the what-ifs, in the order of Results; nil unless they are compared.
	Before []*simulate.Result
}

type simulationFormat struct {
	name  string
	write func(io.Writer, *Simulation, Options) error
}

// simulationFormats is the one ordered list of the values of simulate --output.
var simulationFormats = [...]simulationFormat{
	{"table", simulationTable},
	{"json", simulationJSON},
	{"yaml", simulationYAML},
	{"csv", simulationCSV},
	{"markdown", simulationMarkdown},
}

// SimulationFormats names the formats of Simulation.Write and Sweeps.Write, the default first.
func SimulationFormats() []string {
	names := make([]string, len(simulationFormats))
	for i, f := range simulationFormats {
		names[i] = f.name
	}
	return names
}

// Write writes the results in one of SimulationFormats.
func (s *Simulation) Write(w io.Writer, format string, o Options) error {
	for _, f := range simulationFormats {
		if f.name == format {
			return f.write(w, s, o)
		}
	}
	return fmt.Errorf("unknown output format %q: must be one of %s", format, strings.Join(SimulationFormats(), ", "))
}

// percent is a share in percent with two decimals, two digits where that would be 0: 24.50%, 0.03%, 0.0012%.
func percent(share float64) string {
	switch {
	case share > 0 && share < 0.00005:
		return fmt.Sprintf("%.2g%%", share*100)
	case share > 0.99995 && share < 1-1e-12: // closer to 1 is a sum of floating point numbers
		return ">99.99%"
	}
	return fmt.Sprintf("%.2f%%", share*100)
}

// points is a difference of shares in percentage points, with its sign.
func points(delta float64) string {
	if delta > -0.00005 && delta < 0.00005 {
		return "0"
	}
	return fmt.Sprintf("%+.2f", delta*100)
}

// bar is a share as a bar of a width in characters, in steps of an eighth.
func bar(share float64, width int) string {
	eighths := int(share*float64(width)*8 + 0.5)
	text := strings.Repeat("█", min(eighths/8, width))
	if rest := eighths % 8; rest > 0 && eighths/8 < width {
		text += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return text
}
