package author

import (
	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/document"
	"github.com/edsctl/edsctl/pkg/eds"
)

// Rename gives the assignment another cluster_name. Where it is in a wrapper that says the old name too, that says the
// new one afterwards: a client asks for the resource by the name of the wrapper.
func Rename(name string) Verb {
	return verbOf(func(d *draft) error {
		if d.old.GetClusterName() == name {
			return nil
		}
		d.Want.ClusterName = name
		d.changes.set(diag.Path{{Name: "cluster_name"}}, str(name))
		d.say("cluster_name %q -> %q", d.old.GetClusterName(), name)
		return nil
	})
}

// renameWrapper is the patch for the name of the wrapper around an assignment, if that is the same as its own.
func renameWrapper(r *eds.Resource, name string) []document.Patch {
	if r.Response == nil || !r.Response.Wrapped || r.Response.WrapName != r.Assignment.GetClusterName() {
		return nil
	}
	wrapper := wrapperOf(r.Node.Document().Root, r.Node)
	pr, ok := pairOf(wrapper, "name")
	if !ok || pr.val.Kind() != document.Scalar || isBlockScalar(pr.val) {
		return nil
	}
	start, end := pr.val.Offsets()
	return []document.Patch{{Start: start, End: end, New: styleOf(wrapper).scalar(str(name), pr.val)}}
}

// wrapperOf finds the mapping whose "resource" a node is.
func wrapperOf(n, resource document.Node) document.Node {
	if n.Kind() == document.Alias || n == resource {
		return document.Node{}
	}
	if pr, ok := pairOf(n, "resource"); ok && pr.val.Target() == resource.Target() {
		return n
	}
	if n.Kind() == document.Scalar {
		return document.Node{}
	}
	for c := n.First(); c.IsValid(); c = c.Next() {
		if found := wrapperOf(c, resource); found.IsValid() {
			return found
		}
	}
	return document.Node{}
}
