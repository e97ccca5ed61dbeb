package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/edsctl/edsctl/pkg/author"
	"github.com/edsctl/edsctl/pkg/eds"
)

func newSchemaCmd(env *Env) *cobra.Command {
	var version, file string
	var strict bool
	var shapes []string
	for _, s := range author.SchemaShapes() {
		shapes = append(shapes, string(s))
	}
	cmd := &cobra.Command{
		Use:   "schema [SHAPE]",
		Short: "Print the JSON Schema of a shape, for editors",
		Long: `Print the JSON Schema (2020-12) of a shape, for completion, documentation and checks in an editor. It has the fields in
both spellings with the constraints of the API, the names of enums, what the API says of each field, and what Envoy
reads leniently: enum names in any case, numbers in strings, one value for a list of one.

The shapes are ` + strings.Join(shapes, ", ") + `. "auto" tells the others apart by their keys.`,
		Example: `  edsctl schema bootstrap --strict -o envoy.schema.json
  edsctl schema response -o eds.schema.json`,
		GroupID:   groupAuthor,
		ValidArgs: words(shapes),
		Args: usage(func(cmd *cobra.Command, args []string) error {
			if err := cobra.MaximumNArgs(1)(cmd, args); err != nil {
				return err
			}
			if len(args) == 1 {
				if err := oneOf(args[0], shapes); err != nil {
					return fmt.Errorf("shape %q %w", args[0], err)
				}
			}
			return nil
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := author.SchemaOptions{Shape: author.AnySchema, Version: eds.APIVersion(version), Strict: strict}
			if len(args) == 1 {
				o.Shape = eds.Shape(args[0])
			}
			data, err := author.Schema(o)
			if err != nil {
				return usageError(fmt.Errorf("schema: %w", err))
			}
			return writeWhole(cmd.Context(), env, file, data)
		},
	}
	enumVar(cmd, &version, "api-version", string(eds.V3), []string{"v2", "v3alpha", "v3"}, "API version")
	cmd.Flags().BoolVar(&strict, "strict", false, "refuse unknown fields and enum names everywhere, not only where Envoy does")
	cmd.Flags().StringVarP(&file, "output-file", "o", "", "file to write instead of standard output")
	noEnv(cmd.Flags(), "output-file")
	return cmd
}
