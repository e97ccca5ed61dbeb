package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// tree is a message as text has it: field names and values. Values are tree, []any, raw and what JSON has.
type tree = map[string]any

// raw is printed as it is, into YAML and JSON alike.
type raw string

// renderJSON prints a tree on one line, with keys in their order.
func renderJSON(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case raw:
		return string(v)
	case tree:
		parts := make([]string, 0, len(v))
		for _, k := range keys(v) {
			parts = append(parts, quote(k)+": "+renderJSON(v[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		parts := make([]string, len(v))
		for i, item := range v {
			parts[i] = renderJSON(item)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return quote(v)
	default:
		return fmt.Sprint(v)
	}
}

// renderYAML prints a tree in block style; collections deeper than flow are printed in flow style.
func renderYAML(b *strings.Builder, v any, indent string, flow int) {
	m, isMap := v.(tree)
	list, isList := v.([]any)
	switch {
	case isMap && len(m) > 0 && len(indent)/2 < flow:
		b.WriteByte('\n')
		for _, k := range keys(m) {
			b.WriteString(indent + yamlKey(k) + ":")
			renderYAML(b, m[k], indent+"  ", flow)
		}
	case isList && len(list) > 0 && len(indent)/2 < flow:
		b.WriteByte('\n')
		for _, item := range list {
			b.WriteString(indent + "-")
			renderYAML(b, item, indent+"  ", flow)
		}
	default:
		b.WriteString(" " + renderJSON(v) + "\n")
	}
}

func yamlText(m tree, flow int) string {
	var b strings.Builder
	renderYAML(&b, m, "", flow)
	return strings.TrimPrefix(b.String(), "\n")
}

// yamlKey leaves plain what is plain in every YAML reader.
func yamlKey(k string) string {
	if k == "" || strings.Trim(k, "abcdefghijklmnopqrstuvwxyz_") != "" || k == "y" || k == "n" || k == "on" || k == "no" || k == "off" || k == "yes" {
		return quote(k)
	}
	return k
}

func quote(s string) string {
	out, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(out)
}

func keys(m tree) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// decode reads a tree as a message the way Go does; an error where Go is stricter than Envoy.
func decode(v tree, m proto.Message) error {
	return protojson.Unmarshal([]byte(renderJSON(v)), m)
}

// clone copies a tree down to its leaves.
func clone(v any) any {
	switch v := v.(type) {
	case tree:
		out := make(tree, len(v))
		for k, item := range v {
			out[k] = clone(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = clone(item)
		}
		return out
	default:
		return v
	}
}

// child returns the message in a field, which it makes when there is none.
func child(m tree, field string) tree {
	if c, ok := m[field].(tree); ok {
		return c
	}
	c := tree{}
	m[field] = c
	return c
}
