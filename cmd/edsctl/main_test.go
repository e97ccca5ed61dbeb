package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"edsctl": main})
}

// TestScripts runs testdata/script/<command>_<behaviour>.txtar. UPDATE=1 rewrites what they compare with.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "../../testdata/script",
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"status": status, "admin": admin, "loadenv": loadenv},
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/.config")
			env.Setenv("NO_COLOR", "")
			return nil
		},
	})
}

// admin starts what answers like the admin interface of the recorded Envoy of testdata/vectors/envoy-xds/admin, and puts
// its address into the variable ADMIN.
func admin(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: admin")
	}
	answers := map[string][]byte{}
	for request, file := range map[string]string{"/config_dump?include_eds": "config_dump_include_eds.json", "/clusters?format=json": "clusters.json"} {
		data, err := os.ReadFile("../../testdata/vectors/envoy-xds/admin/" + file)
		ts.Check(err)
		answers[request] = data
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := answers[r.URL.RequestURI()]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(data) // a client that went away is its own test's failure
	}))
	ts.Defer(server.Close)
	ts.Setenv("ADMIN", strings.TrimPrefix(server.URL, "http://"))
}

// loadenv sets the variables that a file has as NAME=VALUE, one a line.
func loadenv(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: loadenv FILE")
	}
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !ok {
			ts.Fatalf("%s: %q is not NAME=VALUE", args[0], line)
		}
		ts.Setenv(name, value)
	}
}

// status runs a program and compares its exit code: status 2 edsctl validate.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE PROGRAM [ARG]...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	got := 0
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
