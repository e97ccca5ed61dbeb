package author

import (
	"fmt"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
)

// placed says where losses are.
func placed(losses []Loss, r *eds.Resource) []Loss {
	for i := range losses {
		losses[i].File, losses[i].Resource = r.File, r.Name
		if !losses[i].Span.IsKnown() && len(losses[i].Path) > 0 {
			losses[i].Span = r.Span(losses[i].Path)
		}
	}
	return losses
}

// dropped are the parts of a text that decoding left out because the source's own version cannot say them.
func dropped(r *eds.Resource) []Loss {
	var out []Loss
	for _, p := range r.Problems {
		removed := p.Rule == "disable-overprovisioning-removed" && r.APIVersion == eds.V3
		if p.Span.IsKnown() && (removed || p.Rule == "unknown-field" || p.Rule == "enum-name-unknown") {
			out = append(out, Loss{Path: p.Path, Span: p.Span, Message: p.Message})
		}
	}
	return out
}

// UnreadableError tells that an input cannot be read as Envoy would read it.
type UnreadableError struct {
	File    string
	Span    diag.Span
	Message string
}

func (e *UnreadableError) Error() string {
	if e.Span.IsKnown() {
		return fmt.Sprintf("%s:%s: %s", e.File, e.Span.Start, e.Message)
	}
	return e.File + ": " + e.Message
}

// unreadable is the reason that a resource cannot be converted at all: Envoy does not read its text.
func unreadable(r *eds.Resource) error {
	for _, p := range r.Problems {
		switch p.Rule {
		case "value-type", "yaml-scalar-type", "oneof-set-twice", "nesting-too-deep", "syntax", "yaml-document", "limit-exceeded",
			"template-unrendered", "no-assignment", "resource-not-unpackable", "file-eds-pb-garbage", "file-eds-wrong-shape", "yaml-alias-cycle":
		case "any-type-missing":
			if len(p.Path) == 0 {
				continue // a resource in a response: the type that it lacks is written
			}
		default:
			continue
		}
		if p.Rule == "template-unrendered" && !r.Absent || p.Rule == "yaml-document" && r.Node.IsValid() {
			continue
		}
		return &UnreadableError{r.File, p.Span, p.Message}
	}
	if r.Absent && r.Unreadable && len(r.Problems) > 0 {
		return &UnreadableError{r.File, r.Problems[0].Span, r.Problems[0].Message}
	}
	return nil
}
