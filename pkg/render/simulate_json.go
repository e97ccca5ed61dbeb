package render

import (
	"bytes"
	"io"

	"github.com/edsctl/edsctl/pkg/author"
	"github.com/edsctl/edsctl/pkg/simulate"
)

type jsonSimulation struct {
	FormatVersion string             `json:"format_version"`
	Results       []*simulate.Result `json:"results"`
	Before        []*simulate.Result `json:"before,omitempty"`
}

// simulationJSON writes the document of product.md, Output shapes.
func simulationJSON(w io.Writer, s *Simulation, _ Options) error {
	return writeJSON(w, jsonSimulation{formatVersion, s.Results, s.Before})
}

// simulationYAML is the same document in YAML.
func simulationYAML(w io.Writer, s *Simulation, o Options) error {
	return writeYAML(w, func(w io.Writer) error { return simulationJSON(w, s, o) })
}

// writeYAML writes a JSON document as YAML.
func writeYAML(w io.Writer, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	text, err := author.YAMLFromJSON(b.Bytes())
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}
