package cli

import "testing"

// TestRootFor compares what is built for one command with the whole tree.
func TestRootFor(t *testing.T) {
	t.Parallel()
	whole := NewRoot(&Env{Getenv: func(string) string { return "" }})
	for _, c := range constructors {
		env := &Env{Getenv: func(string) string { return "" }}
		root := rootFor(env, []string{c.name, "--help"})
		if len(root.Commands()) != 1 {
			t.Fatalf("%s: %d commands are built", c.name, len(root.Commands()))
		}
		got, want := root.Commands()[0], findSub(whole, c.name)
		if want == nil || got.Name() != c.name || got.Use != want.Use || got.UsageString() != want.UsageString() {
			t.Errorf("%s: the command built alone is not that of the tree", c.name)
		}
	}
	for _, args := range [][]string{nil, {"help", "edit"}, {"--color", "never", "rules"}, {"edt"}, {"__complete", "fetch", ""}} {
		if root := rootFor(&Env{}, args); len(root.Commands()) < len(constructors) {
			t.Errorf("%q: %d commands are built", args, len(root.Commands()))
		}
	}
}

// TestEndsItself: what an interrupt does to a run depends on its command, wherever that stands.
func TestEndsItself(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args []string
		want bool
	}{
		{[]string{"watch", "a"}, true},
		{[]string{"--color", "never", "watch", "a"}, true},
		{[]string{"--color=never", "serve", "validate"}, true},
		{[]string{"simulate", "watch"}, false},
		{[]string{"--color", "never", "simulate", "watch"}, false},
		{[]string{"wathc"}, false},
		{nil, false},
	}
	for _, tt := range tests {
		if got := endsItself(rootFor(&Env{}, tt.args), tt.args); got != tt.want {
			t.Errorf("%q: %t, want %t", tt.args, got, tt.want)
		}
	}
}
