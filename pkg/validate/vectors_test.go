package validate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/edsctl/edsctl/pkg/diag"
	"github.com/edsctl/edsctl/pkg/validate"
)

const vectors = "../../testdata/vectors/envoy-verdicts"

// vectorFile is a file of testdata/vectors/envoy-verdicts.
type vectorFile struct {
	Entries []vectorEntry `json:"entries"`
}

type vectorEntry struct {
	ID       string          `json:"id"`
	Rule     string          `json:"rule"`
	Input    *string         `json:"input"`
	Shape    string          `json:"shape"`
	File     string          `json:"file"`
	Hex      string          `json:"hex"`
	Ext      *string         `json:"ext"`
	Response *vectorResponse `json:"response"`
	EDSName  string          `json:"eds_name"`
	Args     []string        `json:"args"`
	Varies   string          `json:"varies"`
	Then     []any           `json:"then"`
	// Bootstrap has extra fields of the bootstrap, as YAML or JSON.
	Bootstrap any                 `json:"bootstrap"`
	Clusters  any                 `json:"clusters"`
	Observed  []vectorObservation `json:"observed"`
}

type vectorResponse struct {
	TypeURL   string `json:"type_url"`
	Resources []struct {
		Text    string `json:"text"`
		Hex     string `json:"hex"`
		TypeURL string `json:"type_url"`
		Wrap    bool   `json:"wrap"`
		Name    string `json:"name"`
		NoBody  bool   `json:"no_body"`
		Version string `json:"version"`
	} `json:"resources"`
}

type vectorObservation struct {
	Source        []string       `json:"source"`
	Cluster       string         `json:"cluster"`
	ClusterFields map[string]any `json:"cluster_fields"`
	LocalCluster  bool           `json:"local_cluster"`
	EDSName       string         `json:"eds_name"`
	Verdict       string         `json:"verdict"`
	Message       string         `json:"message"`
	Warnings      []string       `json:"warnings"`
}

// exceptions are the observations that edsctl does not follow, with the reason. The key is the id of an entry, the
// source and the cluster.
var exceptions = map[string]string{
	"spec/health-check-address-malformed bootstrap STRICT_DNS":  validateMode,
	"spec/health-check-address-malformed bootstrap LOGICAL_DNS": validateMode,
	"cluster/logical-dns-health-check-dns bootstrap ":           validateMode,
	"cluster/health-check-internal bootstrap ":                  validateMode,
	"case/21-broken-pb.pb bootstrap ":                           "a bootstrap without clusters, so no assignment to judge",
	"realworld/073.json bootstrap ":                             notModelled,
	"realworld/095.yaml bootstrap ":                             notModelled,
	"case/92-ads-superset-not-responding.yaml bootstrap ":       "of several unknown keys Envoy names a random one",
	"cluster/eds-path-missing bootstrap ":                       otherHost,
	"cluster/eds-path-missing cds ":                             otherHost,
	"cluster/eds-path-deprecated bootstrap ":                    otherHost,
	"cluster/eds-path-deprecated cds ":                          otherHost,
}

const (
	validateMode = "the verdict is that of a running Envoy, --mode validate answers otherwise"
	notModelled  = "accept speaks of assignments and clusters, not of all that a bootstrap holds"
	otherHost    = "the file may exist where Envoy runs: eds-path-not-found is never a verdict"
)

// outcome of the comparison of one file.
type tally struct{ checked, agreed, excepted, notRun int }

func TestVectors(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(vectors, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	var golden strings.Builder
	for _, name := range files {
		if isRealWorld(name) {
			continue
		}
		sum := compareFile(t, name)
		if sum.checked > 0 {
			golden.WriteString(sum.line(filepath.Base(name)))
		}
	}
	compareVersions(t, files, &golden)
	compareGolden(t, filepath.Join(vectors, "..", "checked.golden"), golden.String())
}

// TestRealWorldVectors compares the verdicts about other people's files, which are not part of the project.
func TestRealWorldVectors(t *testing.T) {
	if _, err := os.Stat(filepath.Join(sharedDir(), "realworld")); err != nil {
		t.Skip("the files are not at hand")
	}
	sum := compareFile(t, filepath.Join(vectors, "realworld.yaml"))
	compareGolden(t, filepath.Join(vectors, "..", "checked-realworld.golden"), sum.line("realworld.yaml"))
}

func isRealWorld(name string) bool { return filepath.Base(name) == "realworld.yaml" }

func compareFile(t *testing.T, name string) tally {
	f := readVectors(t, name)
	sum := tally{}
	t.Run(filepath.Base(name), func(t *testing.T) {
		for i := range f.Entries {
			compareEntry(t, &f.Entries[i], &sum)
		}
	})
	return sum
}

func (sum *tally) line(name string) string {
	return fmt.Sprintf("%-36s checked %4d  agree %4d  excepted %2d  not run %3d\n", name, sum.checked, sum.agreed, sum.excepted, sum.notRun)
}

func readVectors(t *testing.T, name string) vectorFile {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var f vectorFile
	if err := yaml.Unmarshal(data, &f); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return f
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), UPDATE=1 rewrites it:\n%s", name, diff)
	}
}

// compareEntry compares the verdict and the message of an entry with what was observed, by each source.
func compareEntry(t *testing.T, e *vectorEntry, sum *tally) {
	for i := range e.Observed {
		o := &e.Observed[i]
		for _, source := range o.Source {
			compareSource(t, e, o, source, validate.NewestEnvoy, sum)
		}
	}
}

func compareSource(t *testing.T, e *vectorEntry, o *vectorObservation, source string, version int, sum *tally) {
	in, reason := vectorInput(e, o, source)
	if reason != "" {
		sum.notRun++
		return
	}
	if exceptions[e.ID+" "+source+" "+o.Cluster] != "" || strings.HasPrefix(e.Varies, "verdict") {
		sum.excepted++
		return
	}
	in.loader.EnvoyVersion, in.options.EnvoyVersion = version, version
	sum.checked++
	if problem := in.compare(e, o); problem != "" {
		t.Errorf("%s by %s (%s) on 1.%d: %s", e.ID, source, o.Cluster, version, problem)
		return
	}
	sum.agreed++
}

var verdictWords = map[string]diag.VerdictKind{
	"accept": diag.Accept, "reject": diag.Rejected, "start_failure": diag.Rejected, "ignored": diag.Ignored, "crash": diag.Crashes,
}

// compare judges the input and tells what differs from the observation; empty when nothing does.
func (in *vectorCase) compare(e *vectorEntry, o *vectorObservation) string {
	resources := in.load()
	if len(resources) == 0 {
		return "no resource"
	}
	problem := ""
	for _, got := range verdicts(validate.Run(resources, in.options).Resources) {
		if problem = compareVerdict(got, e, o); problem == "" {
			return ""
		}
	}
	return problem
}

func compareVerdict(got diag.Verdict, e *vectorEntry, o *vectorObservation) string {
	want := verdictWords[o.Verdict]
	if got.Kind != want {
		return fmt.Sprintf("verdict is %s (%s: %s), observed %s: %s", got.Kind, got.Rule, got.Message, want, o.Message)
	}
	if want != diag.Rejected || strings.Contains(e.Varies, "message") {
		return ""
	}
	return compareMessages(got.Message, o.Message)
}

// verdicts are those about the input as a whole: of the resources that are refused, else of the first one.
func verdicts(resources []validate.Resource) []diag.Verdict {
	var refused []diag.Verdict
	for _, r := range resources {
		if v := r.Verdicts[diag.Envoy]; bad(v.Kind) {
			refused = append(refused, v)
		}
	}
	if len(refused) > 0 {
		return refused
	}
	return []diag.Verdict{resources[0].Verdicts[diag.Envoy]}
}

func bad(k diag.VerdictKind) bool { return k == diag.Rejected || k == diag.Crashes }

var (
	blanks     = regexp.MustCompile(`[\s\x{a0}]+`)
	readerPath = regexp.MustCompile(`@ (\S+?):? .*near <pos>: (.*)$|near <pos>: (.*)$`)
)

// compareMessages compares texts up to the first dump; of errors of the JSON reader only the path and the cause.
func compareMessages(got, want string) string {
	g, w := normal(got), normal(want)
	if w == "" {
		return "" // a NACK that was cut before the reason
	}
	if strings.Contains(got, "<dump>") && strings.HasPrefix(w, g) {
		return "" // before 1.37 nothing marks the dump
	}
	if strings.Contains(w, "near <pos>: ") && strings.Contains(g, "near <pos>: ") {
		g, w = readerPart(g), readerPart(w)
	}
	if g != w {
		return fmt.Sprintf("message\n got %s\nwant %s", g, w)
	}
	return ""
}

func normal(text string) string {
	text, _, _ = strings.Cut(text, "<dump>")
	return strings.TrimSpace(blanks.ReplaceAllString(text, " "))
}

func readerPart(text string) string {
	m := readerPath.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	return m[1] + " | " + m[2] + m[3]
}
