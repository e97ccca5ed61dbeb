package cli

import (
	"maps"
	"slices"

	"github.com/edsctl/edsctl/pkg/render"
)

// keptBack is why something is not pushed, and whether its last good version is served.
type keptBack struct {
	what    subject
	reason  string
	serving bool
	part    bool // the rest of the file is served
}

// subject is what is kept back, whatever it is called among the others: an assignment in a file, or without a name the file.
type subject struct{ name, file string }

func inFile(name, file string) string { return name + " in " + file }

// keep notes a file that cannot be read, or a part of it. Of two reasons the first is told.
func (r *serveRound) keep(file, why string) {
	if _, ok := r.kept[file]; !ok {
		r.kept[file] = keptBack{what: subject{file: file}, reason: why}
	}
}

// keepOn keeps back what was, where nothing is known of it.
func (r *serveRound) keepOn() {
	for label, k := range r.source.kept {
		if _, ok := r.kept[label]; !ok {
			r.kept[label] = k
		}
	}
}

// refuse offers the last good version of what is refused.
func (r *serveRound) refuse(name, file, why string) {
	label := name
	if _, taken := r.kept[label]; taken || label == "" {
		label = inFile(name, file)
	}
	r.kept[label] = keptBack{what: subject{name, file}, reason: why}
	r.offers = append(r.offers, offer{name: name, file: file, label: label})
}

// compareKept tells what is kept back now and was not, or for another reason, and what is not any more.
func (s *serveSource) compareKept(r *serveRound, state *render.ServeState) {
	still := map[subject]bool{}
	for _, o := range r.offers {
		if !o.good {
			still[subject{o.name, o.file}] = true
		}
	}
	for _, label := range slices.Sorted(maps.Keys(r.kept)) {
		k, old := r.kept[label], s.kept[label]
		still[k.what] = true
		old.what = k.what
		if old != k {
			state.Kept = append(state.Kept, render.KeptBack{Name: label, Reason: k.reason, Serving: k.serving, Part: k.part})
		}
	}
	for _, label := range slices.Sorted(maps.Keys(s.kept)) {
		// Of what is in a file that cannot be read nothing is known.
		what := s.kept[label].what
		if _, ok := r.kept[label]; !ok && !still[what] && !still[subject{file: what.file}] {
			state.KeptOver = append(state.KeptOver, label)
		}
	}
}
