package author

import (
	"fmt"
	"strings"

	"github.com/edsctl/edsctl/pkg/eds"
)

// Extension is the one that Envoy expects of a format.
func Extension(f eds.Format) string {
	switch f {
	case eds.JSON:
		return ".json"
	case eds.JSONLines:
		return ".jsonl"
	case eds.Binary:
		return ".pb"
	case eds.TextProto:
		return ".pb_text"
	}
	return ".yaml"
}

// FileNames gives each part a file name of its own, made of the assignment's name.
func FileNames(parts []Converted, f eds.Format) []string {
	names := make([]string, len(parts))
	seen := map[string]bool{}
	for i := range parts {
		base := safeName(parts[i].Names[0])
		name := base + Extension(f)
		for n := 2; seen[strings.ToLower(name)]; n++ { // file systems may take "A" and "a" for the same
			name = fmt.Sprintf("%s-%d%s", base, n, Extension(f))
		}
		seen[strings.ToLower(name)] = true
		names[i] = name
	}
	return names
}

// maxNameLength keeps names below the limit of file systems.
const maxNameLength = 200

// safeName turns the name of an assignment into one that every file system takes, and that no walk over a folder skips.
func safeName(name string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, name)
	safe = strings.Trim(safe[:min(len(safe), maxNameLength)], ".")
	if safe == "" {
		return "assignment"
	}
	return safe
}
