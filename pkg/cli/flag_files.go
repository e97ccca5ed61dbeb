package cli

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/edsctl/edsctl/pkg/input"
)

// The limits of files: with a token, certificates or a key, and with a bootstrap.
const (
	maxCredentials = 1 << 20
	maxBootstrap   = 64 << 20
)

// flagFiles reads the files that flags name beside inputs: tokens, certificates, bootstraps. A pipe gives its bytes only
// once, so they are remembered.
type flagFiles struct {
	maxBytes int64
	mu       sync.Mutex
	once     map[string][]byte
}

func newFlagFiles(maxBytes int64) *flagFiles {
	return &flagFiles{maxBytes: maxBytes, once: map[string][]byte{}}
}

// read returns the bytes of a file. Errors do not name it.
func (f *flagFiles) read(ctx context.Context, name string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if data, ok := f.once[name]; ok {
		return data, nil
	}
	data, err := input.ReadFile(ctx, name, f.maxBytes)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, errors.New("nothing came in time") // it is not the server that is late
	}
	if info, statErr := os.Stat(name); err == nil && statErr == nil && !info.Mode().IsRegular() {
		f.once[name] = data
	}
	return data, err
}
