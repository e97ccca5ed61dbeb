package selector

import (
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/structpb"
)

// metadataIs tells whether the filter metadata has a value at path. Namespaces contain dots themselves (envoy.lb), so
// each way to cut the path into a namespace and keys is tried.
func metadataIs(m *corev3.Metadata, path, value string) bool {
	for namespace, fields := range m.GetFilterMetadata() {
		if rest, ok := strings.CutPrefix(path, namespace+"."); ok && fieldIs(fields, rest, value) {
			return true
		}
	}
	return false
}

func fieldIs(s *structpb.Struct, path, value string) bool {
	for key, v := range s.GetFields() {
		if key == path && scalar(v) == value && isScalar(v) {
			return true
		}
		if rest, ok := strings.CutPrefix(path, key+"."); ok && fieldIs(v.GetStructValue(), rest, value) {
			return true
		}
	}
	return false
}

func isScalar(v *structpb.Value) bool {
	return v.GetStructValue() == nil && v.GetListValue() == nil
}

// scalar is the text of a value as a user writes it in a selector.
func scalar(v *structpb.Value) string {
	switch v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return v.GetStringValue()
	case *structpb.Value_NumberValue:
		return strconv.FormatFloat(v.GetNumberValue(), 'f', -1, 64)
	case *structpb.Value_BoolValue:
		return strconv.FormatBool(v.GetBoolValue())
	default:
		return "null"
	}
}

// collect calls f with each path of a scalar in the metadata and its text.
func collect(m *corev3.Metadata, f func(path, value string)) {
	for namespace, fields := range m.GetFilterMetadata() {
		collectStruct(fields, namespace, f)
	}
}

func collectStruct(s *structpb.Struct, prefix string, f func(path, value string)) {
	for key, v := range s.GetFields() {
		path := prefix + "." + key
		if v.GetStructValue() != nil {
			collectStruct(v.GetStructValue(), path, f)
		} else if isScalar(v) {
			f(path, scalar(v))
		}
	}
}
