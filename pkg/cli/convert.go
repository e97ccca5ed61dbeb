package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/edsctl/edsctl/pkg/author"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/input"
)

type convertOptions struct {
	inputOptions
	profile
	writeOptions
	drop  bool
	split string
}

func newConvertCmd(env *Env) *cobra.Command {
	var o convertOptions
	cmd := &cobra.Command{
		Use:   "convert PATH...",
		Short: "Write assignments in another format, shape or API version",
		Long: `Read assignments in any format and shape, and write them in another: YAML, JSON, JSON lines, text or binary protobuf;
alone, in a list, a response, a cluster or a bootstrap; in v2, v3alpha or v3. What is not asked for stays as it is.

What the target cannot say is listed with its lines and refused (exit code 1); --drop-unsupported leaves it out and names
each loss. convert does not validate: what breaks a constraint is named and converted.`,
		Example: `  edsctl convert --to-format json eds.yaml
  edsctl convert --to-shape response --to-format pb -o eds.pb clusters/
  edsctl convert --to-api-version v3 --drop-unsupported old.yaml
  edsctl convert --split out/ response.pb && edsctl convert --to-shape response --to-format pb out/`,
		GroupID: groupAuthor,
		Args:    atLeastOne("path"),
		RunE:    func(cmd *cobra.Command, args []string) error { return runConvert(cmd, env, &o, args) },
	}
	o.inputOptions.bind(cmd)
	o.profile.bind(cmd, "input-format", "input-shape", "api-version")
	o.writeOptions.bind(cmd, "", "")
	cmd.Flags().BoolVar(&o.drop, "drop-unsupported", false, "leave out what the target cannot say, and name each loss")
	cmd.Flags().StringVar(&o.split, "split", "", "folder to write one file for each assignment into")
	noEnv(cmd.Flags(), "drop-unsupported", "split")
	return cmd
}

// writeOptions say what is written, and where.
type writeOptions struct{ format, shape, version, file string }

// bind declares the flags. Empty defaults keep what the input has.
func (o *writeOptions) bind(cmd *cobra.Command, shape, version string) {
	var formats, shapes []string
	for _, f := range author.Formats() {
		formats = append(formats, string(f))
	}
	for _, s := range author.Shapes() {
		shapes = append(shapes, string(s))
	}
	enumVar(cmd, &o.format, "to-format", "", formats, "format to write (by the extension of the output file when unset)")
	enumVar(cmd, &o.shape, "to-shape", shape, shapes, "shape to write")
	enumVar(cmd, &o.version, "to-api-version", version, []string{"v2", "v3alpha", "v3"}, "API version to write")
	cmd.Flags().StringVarP(&o.file, "output-file", "o", "", "file to write instead of standard output")
	noEnv(cmd.Flags(), "output-file")
}

// formatByExtension is the format that the extension of a file stands for, empty when it tells nothing.
func formatByExtension(file string) eds.Format {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".yaml", ".yml":
		return eds.YAML
	case ".json":
		return eds.JSON
	case ".jsonl", ".ndjson":
		return eds.JSONLines
	case ".pb":
		return eds.Binary
	case ".pb_text", ".textproto", ".txtpb", ".textpb", ".prototxt", ".pbtxt":
		return eds.TextProto
	}
	return ""
}

// formatOf is the format to write.
func (o *writeOptions) formatOf(byDefault eds.Format) eds.Format {
	if o.format != "" {
		return eds.Format(o.format)
	}
	if f := formatByExtension(o.file); f != "" {
		return f
	}
	return byDefault
}

func runConvert(cmd *cobra.Command, env *Env, o *convertOptions, args []string) error {
	if o.split != "" && o.file != "" {
		return usagef("convert: --split and --output-file exclude each other")
	}
	in, err := readConversion(cmd.Context(), env, o, args)
	if err != nil {
		return err
	}
	c := author.Conversion{Format: o.formatOf(in[0].File.Format), Shape: eds.Shape(o.shape), Version: eds.APIVersion(o.version)}
	if o.split != "" {
		return o.splitInto(cmd.Context(), env, c, in)
	}
	out, err := c.Convert(in)
	if err != nil {
		return o.conversionError(err)
	}
	if err := o.report(env, out); err != nil {
		return err
	}
	return writeWhole(cmd.Context(), env, o.file, out.Data)
}

// readConversion reads the files of the arguments.
func readConversion(ctx context.Context, env *Env, o *convertOptions, args []string) ([]author.ConversionInput, error) {
	files, err := input.Find(ctx, args, input.Options{Stdin: env.Stdin, Include: o.include, MaxBytes: o.maxBytes})
	if err != nil {
		return nil, err
	}
	loader := newLoaders(o.inputOptions).of(&o.profile)
	var in []author.ConversionInput
	var errs []error
	for _, file := range files {
		data, err := file.Read(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", file.Name, err))
			continue
		}
		loaded := loader.Load(file.Name, data, file.Named)
		if loaded.Skipped {
			continue
		}
		loaded.Resources = withoutFollowed(loaded.Resources)
		in = append(in, author.ConversionInput{File: loaded, Data: data})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if len(in) == 0 {
		return nil, noneFound("convert", counted(len(files), "file"))
	}
	return in, nil
}

// withoutFollowed leaves out what stands in other files.
func withoutFollowed(all []*eds.Resource) []*eds.Resource {
	var out []*eds.Resource
	for _, r := range all {
		if !r.Followed {
			out = append(out, r)
		}
	}
	return out
}

// conversionError adds what the user can do. What the target cannot say ends with exit 1, as a loss does; what must be
// said on the command line is a usage error.
func (o *convertOptions) conversionError(err error) error {
	var shape *author.ShapeError
	var several *author.SeveralError
	var target *author.TargetError
	var none *author.NoAssignmentError
	toShape := "say what to write with --to-shape, such as --to-shape list for the assignments alone"
	switch {
	case errors.As(err, &shape) && shape.Shape == "":
		return usageError(withHint(fmt.Errorf("convert: %w", err), toShape))
	case errors.As(err, &shape):
		return &codeError{exitFindings, withHint(fmt.Errorf("convert: %w", err), toShape)}
	case errors.As(err, &several):
		return &codeError{exitFindings, withHint(fmt.Errorf("convert: %w", err), "write a response (--to-shape response), or one file each (--split DIR)")}
	case errors.As(err, &target):
		return &codeError{exitFindings, fmt.Errorf("convert: %w", err)}
	case errors.As(err, &none) && none.Format == eds.Binary && o.inputShape == "":
		return withHint(fmt.Errorf("convert: %w", err), shapeHint)
	case errors.As(err, &none):
		return fmt.Errorf("convert: %w", err)
	case errors.Is(err, author.ErrVersions):
		return usageError(withHint(fmt.Errorf("convert: %w", err), "say which to write with --to-api-version"))
	}
	return err
}

// report lists what is lost, which is refused unless it was allowed, and what breaks a constraint.
func (o *convertOptions) report(env *Env, out *author.Converted) error {
	for _, b := range out.Broken {
		fmt.Fprintf(env.Stderr, "edsctl: converted as it is: %s\n", b)
	}
	if printLosses(env, out.Losses, o.drop) {
		if o.inputShape == "" && slices.ContainsFunc(out.Losses, func(l author.Loss) bool { return l.Field > 0 }) {
			fmt.Fprintln(env.Stderr, "hint: "+shapeHint)
		}
		return errFindings()
	}
	return nil
}

// shapeHint is for bytes that may be another message than they were taken for.
const shapeHint = "bytes do not tell what they are: say it with --input-shape, such as cluster, any or resource"

// printLosses names what the target cannot say, and tells whether that is a reason not to write.
func printLosses(env *Env, losses []author.Loss, drop bool) (refused bool) {
	word := "cannot be converted"
	if drop {
		word = "dropped"
	}
	for _, l := range losses {
		place := ""
		if l.File != "" {
			place = l.File + ": "
		}
		if l.Span.IsKnown() {
			place = l.File + ":" + l.Span.Start.String() + ": "
		}
		path := ""
		if len(l.Path) > 0 {
			path = l.Path.String() + ": "
		}
		fmt.Fprintf(env.Stderr, "%s%s: %s%s\n", place, word, path, l.Message)
	}
	refused = len(losses) > 0 && !drop
	if refused {
		fmt.Fprintln(env.Stderr, "hint: --drop-unsupported leaves it out")
	}
	return refused
}

// splitInto writes one file for each assignment. Nothing is written unless all of it can be.
func (o *convertOptions) splitInto(ctx context.Context, env *Env, c author.Conversion, in []author.ConversionInput) error {
	parts, err := c.Split(in)
	if err != nil {
		return o.conversionError(err)
	}
	if len(parts) == 0 {
		return errors.New("convert: there is no assignment to write")
	}
	if err := o.report(env, &parts[0]); err != nil {
		return err
	}
	if err := os.MkdirAll(o.split, 0o777); err != nil {
		return fmt.Errorf("%s: %w", o.split, bareError(err))
	}
	names := author.FileNames(parts, c.Format)
	for i := range parts {
		if err := writeWhole(ctx, env, filepath.Join(o.split, names[i]), parts[i].Data); err != nil {
			return err
		}
	}
	return nil
}
