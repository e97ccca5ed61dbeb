package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/edsctl/edsctl/pkg/render"
)

// plotFormat is the format that the suffix of a file asks for.
func plotFormat(file string) (string, error) {
	format := strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), ".")
	if !slices.Contains(render.PlotFormats(), format) {
		return "", usagef("--plot: %q must end in .%s", file, strings.Join(render.PlotFormats(), " or ."))
	}
	return format, nil
}

// writePlot writes the picture of a sweep to a file.
func writePlot(ctx context.Context, env *Env, file string, sweeps *render.Sweeps) error {
	format, err := plotFormat(file)
	if err != nil {
		return err
	}
	draw := func(w io.Writer, format string, _ render.Options) error { return sweeps.Plot(w, format) }
	if err := writeTargets(ctx, env, []target{{format, file}}, draw, func(target) render.Options { return render.Options{} }); err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	return nil
}
