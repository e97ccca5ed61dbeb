package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

const (
	progressAfter = time.Second            // how long a run may take before it shows its progress
	progressEvery = 100 * time.Millisecond // how often the progress is drawn at most
	barWidth      = 40                     // columns
)

// progress shows on a terminal how many files of a long run are done.
type progress struct {
	env   *Env
	total int
	end   func() bool

	mu    sync.Mutex
	done  int
	over  bool
	shown int       // length of the line on the terminal, 0 until it is worth showing
	drawn time.Time // when
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
	if !p.over { // it may end while this waits
		p.draw()
	}
}

// draw writes the line over the one before, which is never longer. What cannot be shown is not worth an error.
func (p *progress) draw() {
	line := fmt.Sprintf("files [%-*s] %d/%d", barWidth, strings.Repeat("=", barWidth*p.done/p.total), p.done, p.total)
	fmt.Fprint(p.env.Stderr, "\r", line)
	p.shown, p.drawn = len(line), time.Now()
}

func (p *progress) add() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	if p.shown > 0 && time.Since(p.drawn) >= progressEvery {
		p.draw()
	}
}

// finish takes the line off the terminal.
func (p *progress) finish() {
	if p == nil {
		return
	}
	p.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	if p.shown > 0 {
		fmt.Fprint(p.env.Stderr, "\r", strings.Repeat(" ", p.shown), "\r")
	}
}
