package cli

import (
	"fmt"
	"maps"
	"slices"

	"github.com/edsctl/edsctl/pkg/render"
	"github.com/edsctl/edsctl/pkg/xds"
)

// followedClusters are the clusters of CDS, as the subscription follows them.
type followedClusters struct {
	static  []string          // of the bootstrap: CDS cannot redefine them
	service map[string]string // by name of the cluster, the name that it asks EDS for; empty: it does not
	version string            // that was told last
	told    bool
}

// take applies a response, and tells whether it changed anything. In the delta variant it holds what changed, else
// everything. A cluster that is refused stays as it was.
func (f *followedClusters) take(ev *xds.Event) (changed bool) {
	before := maps.Clone(f.service)
	if f.service == nil {
		f.service = map[string]string{}
	}
	present := map[string]bool{}
	for i := range ev.Clusters {
		c := &ev.Clusters[i]
		if slices.Contains(f.static, c.Name) {
			continue
		}
		present[c.Name] = true
		if _, known := f.service[c.Name]; c.Err == nil {
			f.service[c.Name] = c.Service
		} else if !known {
			f.service[c.Name] = ""
		}
	}
	for _, name := range ev.Removed {
		delete(f.service, name)
	}
	if !ev.IsDelta() {
		maps.DeleteFunc(f.service, func(name, _ string) bool { return !present[name] })
	}
	return !maps.Equal(before, f.service)
}

// isUnfollowed tells whether a name was followed for a cluster that is gone: that was told then, and there are no endpoints
// that Envoy could keep.
func (w *watching) isUnfollowed(name string) bool {
	return w.clusters.told && len(w.names) == 0 && !w.live && !slices.Contains(w.clusters.services(), name)
}

// services are the names that the clusters ask EDS for, sorted.
func (f *followedClusters) services() []string {
	set := map[string]bool{}
	for _, service := range f.service {
		if service != "" {
			set[service] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// clusterChange tells of a response about clusters, unless it repeats what was told.
func (w *watching) clusterChange(ev *xds.Event) {
	f := &w.clusters
	changed := f.take(ev)
	services := f.services()
	maps.DeleteFunc(w.states, func(name string, _ *watched) bool {
		_, found := slices.BinarySearch(services, name)
		return !found // it is asked for anew, should a cluster want it again
	})
	unversioned := ev.Version == "" && ev.IsDelta() // which holds changes only, of whatever
	if f.told && !changed && !unversioned && ev.Version == f.version {
		return
	}
	f.version, f.told = ev.Version, true
	line := &render.WatchLine{Event: "clusters", Time: ev.Time, Version: ev.Version}
	for i := range ev.Clusters {
		if why := f.notEDS(&ev.Clusters[i]); why != "" {
			line.NotEDS = append(line.NotEDS, fmt.Sprintf("%s: %s", ev.Clusters[i].Name, why))
		}
	}
	line.Text = fmt.Sprintf("%s, %s for EDS", counted(len(f.service), "cluster"), counted(len(services), "name"))
	w.write(line)
}

// notEDS says why this version of a cluster asks for no assignment; empty: it does.
func (f *followedClusters) notEDS(c *xds.Cluster) string {
	switch {
	case slices.Contains(f.static, c.Name):
		return "the bootstrap has a cluster of this name, which stays"
	case c.Err != nil:
		return c.Err.Error()
	case !c.IsEDS():
		return c.Why
	}
	return ""
}
