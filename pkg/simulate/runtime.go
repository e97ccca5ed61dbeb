package simulate

import (
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/edsctl/edsctl/pkg/eds"
)

// runtime is the bootstrap's static layers, the last of which wins, with the options' keys over them.
func (s *run) runtime() map[string]*structpb.Value {
	values := s.resource.Surroundings().Runtime()
	for key, value := range s.o.Runtime {
		values[key] = eds.RuntimeText(value)
	}
	return values
}
