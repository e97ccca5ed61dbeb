package simulate

import (
	"maps"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/edsctl/edsctl/pkg/eds"
)

// runtime is the bootstrap's static layers, the last of which wins, with the options' keys over them.
func (s *run) runtime() map[string]*structpb.Value {
	values := s.resource.Surroundings().Runtime()
	if len(s.o.Runtime) == 0 {
		return values
	}
	values = maps.Clone(values)
	if values == nil {
		values = map[string]*structpb.Value{}
	}
	for key, value := range s.o.Runtime {
		values[key] = eds.RuntimeText(value)
	}
	return values
}
