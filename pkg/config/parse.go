package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
)

// Known says which rules and flags there are.
type Known struct {
	Rules []string
	Flags []string // that a configuration file may set
	// PathFlags are those that an override may set for some paths.
	PathFlags []string
}

// Parse reads the text of a configuration file; name stands in messages. The error joins everything that is wrong
// with it, each with its place.
func Parse(name string, data []byte, known Known) (*File, error) {
	root, err := parseDocument(data)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	p := parser{name: name, known: known}
	file := &File{Rules: map[string]diag.Severity{}, flags: map[string]Setting{}}
	if root.IsValid() && !isNull(root) {
		p.fields(root, map[string]func(document.Node){
			"rules":     func(n document.Node) { file.Rules = p.rules(n) },
			"exclude":   func(n document.Node) { file.Exclude = p.globs(n) },
			"flags":     func(n document.Node) { file.flags = p.flags(n, known.Flags) },
			"overrides": func(n document.Node) { file.Overrides = p.overrides(n) },
		})
	}
	return file, errors.Join(p.errs...)
}

type parser struct {
	name  string
	known Known
	errs  []error
}

func (p *parser) fail(n document.Node, format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("%s:%v: %w", p.name, n.Span().Start, fmt.Errorf(format, args...)))
}

func isNull(n document.Node) bool {
	return n.Kind() == document.Scalar && n.Style() == document.Plain && slices.Contains([]string{"", "~", "null"}, n.Text())
}

// fields hands the value of each key to its function.
func (p *parser) fields(n document.Node, known map[string]func(document.Node)) {
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range known {
			if !yield(name) {
				return
			}
		}
	})
	p.pairs(n, func(key, value document.Node) {
		if take := known[key.Text()]; take != nil {
			take(value)
			return
		}
		p.fail(key, "unknown key %q: must be one of %s", key.Text(), strings.Join(names, ", "))
	})
}

// pairs walks over a mapping and refuses anything else and keys that occur twice.
func (p *parser) pairs(n document.Node, each func(key, value document.Node)) {
	if isNull(n) {
		return
	}
	if n.Target().Kind() != document.Mapping {
		p.fail(n, "must be a mapping")
		return
	}
	seen := map[string]bool{}
	for key := n.First(); key.IsValid(); key = key.Next().Next() {
		if seen[key.Text()] {
			p.fail(key, "key %q occurs twice", key.Text())
			continue
		}
		seen[key.Text()] = true
		each(key, key.Next())
	}
}

func (p *parser) items(n document.Node) (out []document.Node) {
	if isNull(n) {
		return nil
	}
	if n.Target().Kind() != document.Sequence {
		p.fail(n, "must be a list")
		return nil
	}
	for item := n.First(); item.IsValid(); item = item.Next() {
		out = append(out, item)
	}
	return out
}

// text returns the text of a scalar.
func (p *parser) text(n document.Node) (string, bool) {
	if n.Target().Kind() != document.Scalar || isNull(n.Target()) {
		p.fail(n, "must be a text, a number or a boolean")
		return "", false
	}
	return n.Target().Text(), true
}

func (p *parser) globs(n document.Node) (out []string) {
	for _, item := range p.items(n) {
		glob, ok := p.text(item)
		if ok && !doublestar.ValidatePattern(glob) {
			p.fail(item, "%q is not a valid glob", glob)
		} else if ok {
			out = append(out, strings.TrimPrefix(glob, "./"))
		}
	}
	return out
}

func (p *parser) rules(n document.Node) map[string]diag.Severity {
	out := map[string]diag.Severity{}
	p.pairs(n, func(key, value document.Node) {
		if !slices.Contains(p.known.Rules, key.Text()) {
			p.fail(key, "unknown rule %q: 'edsctl rules' lists them", key.Text())
			return
		}
		text, ok := p.text(value)
		if !ok {
			return
		}
		severity, err := diag.ParseSeverity(text)
		if err != nil {
			p.fail(value, "%w", err)
			return
		}
		out[key.Text()] = severity
	})
	return out
}

// maxListed is how many flags an error lists; among more a near one is named.
const maxListed = 12

// flagAdvice says what a flag that is unknown could have been.
func flagAdvice(name string, known []string) string {
	if len(known) <= maxListed {
		return "must be one of " + strings.Join(known, ", ")
	}
	if near, ok := diag.Nearest(name, known); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "a file sets no flags that make a command write, and a project's file none that name servers; 'edsctl help environment' lists the others"
}

func (p *parser) flags(n document.Node, known []string) map[string]Setting {
	out := map[string]Setting{}
	p.pairs(n, func(key, value document.Node) {
		name := key.Text()
		if !slices.Contains(known, name) {
			p.fail(key, "flag %q cannot be set here: %s", name, flagAdvice(name, known))
			return
		}
		setting := Setting{Where: fmt.Sprintf("%s:%v: %s", p.name, value.Span().Start, name)}
		nodes := []document.Node{value}
		if value.Target().Kind() == document.Sequence {
			nodes = p.items(value)
		}
		for _, node := range nodes {
			text, ok := p.text(node)
			if !ok {
				return
			}
			setting.Values = append(setting.Values, text)
		}
		out[name] = setting
	})
	return out
}

func (p *parser) overrides(n document.Node) (out []Override) {
	for _, item := range p.items(n) {
		var o Override
		p.fields(item, map[string]func(document.Node){
			"paths": func(n document.Node) { o.Paths = p.globs(n) },
			"rules": func(n document.Node) { o.Rules = p.rules(n) },
			"flags": func(n document.Node) { o.Flags = p.flags(n, p.known.PathFlags) },
		})
		if len(o.Paths) == 0 {
			p.fail(item, "an override needs %q", "paths")
		}
		out = append(out, o)
	}
	return out
}
