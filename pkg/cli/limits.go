package cli

import (
	"errors"

	"github.com/spf13/pflag"
)

// limited is the value of a flag that takes durations or numbers within limits only.
type limited struct {
	pflag.Value
	allowed string
	within  func() bool // of the value that was set
}

func (l limited) Set(s string) error {
	if l.Value.Set(s) != nil || !l.within() {
		return errors.New("must be " + l.allowed)
	}
	return nil
}

// limitFlag gives a declared flag limits; allowed says them: "must be <allowed>".
func limitFlag(fs *pflag.FlagSet, name, allowed string, within func() bool) {
	f := fs.Lookup(name)
	f.Value = limited{f.Value, allowed, within}
	if f.DefValue == "0s" {
		f.DefValue = "0" // pflag leaves the zero out of the help of its own durations only
	}
}
