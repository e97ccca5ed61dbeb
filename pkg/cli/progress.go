package cli

import (
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progressAfter is how long a run may take before it shows its progress.
const progressAfter = time.Second

// progress shows on a terminal how many files of a long run are done.
type progress struct {
	env   *Env
	total int

	mu   sync.Mutex
	done int
	bar  *progressbar.ProgressBar // nil until it is worth showing
	end  func() bool
}

// newProgress starts the wait for a run over total files; nil, on which everything may be called, when stderr is no terminal.
func newProgress(env *Env, total int) *progress {
	if total < 2 || !isTerminal(env.Stderr) {
		return nil
	}
	p := &progress{env: env, total: total}
	p.end = time.AfterFunc(progressAfter, p.show).Stop
	return p
}

func (p *progress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bar = progressbar.NewOptions(p.total, progressbar.OptionSetWriter(p.env.Stderr), progressbar.OptionSetDescription("files"),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
	_ = p.bar.Add(p.done) // what cannot be shown is not worth an error
}

func (p *progress) add() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if p.bar != nil {
		_ = p.bar.Add(1)
	}
}

// finish takes the bar off the terminal.
func (p *progress) finish() {
	if p == nil {
		return
	}
	p.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
