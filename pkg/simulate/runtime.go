package simulate

import (
	"strconv"

	"google.golang.org/protobuf/types/known/structpb"
)

// runtime is the bootstrap's static layers, the last of which wins, with the options' keys over them.
func (s *run) runtime() map[string]string {
	values := map[string]string{}
	if b := s.resource.Bootstrap; b != nil {
		for _, layer := range b.StaticLayers {
			flatten(layer, "", values)
		}
	}
	for key, value := range s.o.Runtime {
		values[key] = value
	}
	return values
}

// flatten writes the keys of a layer with dots between the levels: a layer may be written either way
// (runtime_impl.cc, ProtoLayer::walkProtoValue).
func flatten(layer *structpb.Struct, prefix string, values map[string]string) {
	for key, v := range layer.GetFields() {
		switch kind := v.GetKind().(type) {
		case *structpb.Value_StructValue:
			flatten(kind.StructValue, prefix+key+".", values)
		case *structpb.Value_StringValue:
			values[prefix+key] = kind.StringValue
		case *structpb.Value_NumberValue:
			values[prefix+key] = strconv.FormatFloat(kind.NumberValue, 'f', -1, 64)
		case *structpb.Value_BoolValue:
			values[prefix+key] = strconv.FormatBool(kind.BoolValue)
		}
	}
}
