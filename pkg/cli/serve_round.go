package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"syscall"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/eds"
	"github.com/edsctl/edsctl/pkg/input"
	"github.com/edsctl/edsctl/pkg/xds/serve"
)

// serveRound is one reading of all files: what they offer, and what becomes of it.
type serveRound struct {
	source   *serveSource
	offers   []offer
	fresh    map[string]bool   // names of which a good version is offered
	clusters map[string]string // what is served with a cluster, and from where, by its name
	next     map[string]servedAssignment
	fed      map[string]bool     // files of which something new is served
	kept     map[string]keptBack // by assignment or file
	holds    bool                // a file holds an assignment, or what may be one and cannot be read
}

// offer is what a file has for a name. Where that is not good, the last good version stands in for it.
type offer struct {
	name, file string
	assignment serve.Assignment
	good       bool
	from       string // where it stands, if it is good: an EDS file of a bootstrap, or the file itself
	label      string // where kept tells why it is not
}

func newServeRound(s *serveSource) *serveRound {
	return &serveRound{
		source: s, fresh: map[string]bool{}, clusters: map[string]string{}, next: map[string]servedAssignment{}, fed: map[string]bool{},
		kept: map[string]keptBack{},
	}
}

// unread keeps what a file held that cannot be read now.
func (r *serveRound) unread(file, why string) {
	r.keep(file, why)
	for _, name := range r.source.heldBy(file) {
		r.offers = append(r.offers, offer{name: name, file: file, label: file})
	}
}

// hidden keeps what files held that are there, but cannot be found: their folder cannot be listed.
func (r *serveRound) hidden(found []*input.File, why error) {
	held := map[string]bool{}
	for _, a := range r.source.good {
		held[a.file] = true
	}
	for _, f := range found {
		delete(held, f.Name)
	}
	for _, file := range slices.Sorted(maps.Keys(held)) {
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			r.unread(file, oneLine(why))
		}
	}
}

// take judges the assignments of one file.
func (r *serveRound) take(loaded *eds.File) {
	file := loaded.Name
	held := r.source.heldBy(file)
	offered := map[string]bool{}
	label, whole := "", true // label: where the first part without a name is told; whole: there was nothing that could not be read
	for _, res := range loaded.Resources {
		name := res.Assignment.GetClusterName()
		a := serve.Assignment{Message: res.Assignment}
		if res.Cluster != nil && res.Cluster.Message != nil {
			a.Cluster = res.Cluster.Message
		}
		switch {
		case res.Absent || res.Unreadable && name == "":
			part := r.source.lacking(res)
			r.holds = r.holds || part.name != "" || isBroken(res)
			whole = whole && !res.Unreadable && part.name == ""
			isHeld := slices.Contains(held, part.name)
			if part.why == "" && isHeld {
				part.why = noAssignment
			}
			if part.why == "" {
				continue
			}
			r.keep(part.label, part.why)
			label = cmp.Or(label, part.label)
			if !isHeld {
				continue
			}
			name = part.name
			r.offers = append(r.offers, offer{name: name, file: file, label: part.label})
		case res.Unreadable:
			r.holds = true
			r.refuse(name, file, r.source.refused(res))
		default:
			r.holds = true
			if reason := r.source.refused(served(res, a)); reason != "" && !r.source.options.force {
				r.refuse(name, file, reason)
				break
			}
			r.offers = append(r.offers, offer{name: name, file: file, assignment: a, good: true, from: res.File})
			r.fresh[name] = true
		}
		offered[name] = true
	}
	if whole && len(offered) > 0 {
		return
	}
	// What was in the part that cannot be read is not known, and a file that holds nothing any more is seldom meant.
	for _, name := range held {
		if !offered[name] {
			if label == "" {
				label = file
				r.keep(label, noAssignment)
			}
			r.offers = append(r.offers, offer{name: name, file: file, label: label})
		}
	}
}

// isBroken tells whether a text cannot be read because of what is in it, not because there is nothing.
func isBroken(r *eds.Resource) bool {
	return r.Unreadable && slices.ContainsFunc(r.Problems, func(p diag.Problem) bool { return p.Rule != "yaml-document" })
}

// settle decides what is served: in the order of files, so that of two that cannot be served together the first is.
func (r *serveRound) settle() map[string]servedAssignment {
	for _, o := range r.offers {
		switch {
		case o.good:
			if why := r.place(o.name, o.file, o.assignment); why != "" {
				r.kept[inFile(o.name, o.file)] = keptBack{what: subject{o.name, o.file}, reason: why, serving: r.old(o.name, o.file)}
				break
			}
			r.fed[o.file], r.fed[o.from] = true, true
		case !r.fresh[o.name]:
			k := r.kept[o.label]
			k.serving = r.old(o.name, o.file) || k.serving
			r.kept[o.label] = k
		case o.label == o.name: // served from another file
			r.kept[inFile(o.name, o.file)] = r.kept[o.label]
			delete(r.kept, o.label)
		}
	}
	for label, k := range r.kept {
		k.part = k.what.name == "" && r.fed[label]
		r.kept[label] = k
	}
	return r.next
}

// old places the last good version of what a file has now in a bad one, if there is one that can be served.
func (r *serveRound) old(name, file string) bool {
	old, ok := r.source.good[name]
	return ok && r.place(name, file, old.Assignment) == ""
}

// place serves an assignment, unless it says why it cannot be served beside the others.
func (r *serveRound) place(name, file string, a serve.Assignment) (why string) {
	if other, ok := r.next[name]; ok {
		return "the name is served from " + other.file + " already"
	}
	cluster := a.ClusterName()
	if other, ok := r.clusters[cluster]; ok {
		return fmt.Sprintf("the cluster %q is served with %s already", cluster, other)
	}
	r.next[name], r.clusters[cluster] = servedAssignment{a, file}, inFile(name, file)
	return ""
}
