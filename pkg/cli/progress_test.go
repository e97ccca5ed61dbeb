package cli

import (
	"bytes"
	"strings"
	"testing"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	if p := newProgress(&Env{Stderr: new(bytes.Buffer)}, 100); p != nil {
		t.Fatal("progress is shown where there is no terminal")
	}
	var none *progress
	none.add()
	none.finish()

	var out bytes.Buffer
	p := &progress{env: &Env{Stderr: &out}, total: 4, end: func() bool { return true }}
	p.add()
	p.show()
	p.add() // too soon to be drawn
	p.drawn = p.drawn.Add(-progressEvery)
	p.add()
	p.finish()
	p.show() // too late
	want := "\rfiles [" + strings.Repeat("=", 10) + strings.Repeat(" ", 30) + "] 1/4" +
		"\rfiles [" + strings.Repeat("=", 30) + strings.Repeat(" ", 10) + "] 3/4\r" + strings.Repeat(" ", 52) + "\r"
	if got := out.String(); got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
}
