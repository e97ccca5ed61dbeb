package config

import (
	"errors"

	"github.com/edsctl/edsctl/pkg/document"
)

// parseDocument reads the only document of a text; the root is invalid when it is empty.
func parseDocument(data []byte) (document.Node, error) {
	docs, err := document.ParseYAML(data, document.Limits{MaxBytes: 1 << 20})
	switch {
	case err != nil:
		return document.Node{}, err
	case len(docs) > 1:
		return document.Node{}, errors.New(docs[1].Span().Start.String() + ": a configuration file has one document")
	case len(docs) == 0:
		return document.Node{}, nil
	}
	return docs[0].Root, nil
}
