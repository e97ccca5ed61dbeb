package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/edsctl/edsctl/pkg/render"
)

// The exit codes (product.md, Conventions). The texts are those of "edsctl help exit-codes" and docs/exit-codes.md.
const (
	exitOK          = 0
	exitFindings    = 1
	exitUsage       = 2
	exitFailure     = 3
	exitUnanswered  = 4
	exitInterrupted = 130
)

type exitCode struct {
	code    int
	meaning string
}

func exitCodes() []exitCode {
	return []exitCode{
		{exitOK, "all is well"},
		{exitFindings, "findings at or above the threshold, a failed assertion, a rejected assignment in simulate, a difference in diff or format --check, a conversion whose target cannot say everything, or an edit whose result does not validate"},
		{exitUsage, "the command line, the environment or a configuration file is wrong"},
		{exitFailure, "it could not be done: a file cannot be read, no assignment was found, there is no connection"},
		{exitUnanswered, "timed out or unanswered names; what came was printed"},
		{exitInterrupted, "interrupted (SIGINT ends watch and serve with 0)"},
	}
}

// codeError carries the exit code of an error that is not a plain failure (exit 3). Its err is nil when everything
// that is to be said has been printed.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}
func (e *codeError) Unwrap() error { return e.err }

// errFindings ends a run that has printed findings, a difference or a rejected assignment: exit 1, nothing more said.
func errFindings() error { return &codeError{code: exitFindings} }

// errUnanswered ends a run that timed out; err says for what, nil when that is printed already.
func errUnanswered(err error) error { return &codeError{exitUnanswered, err} }

// usageError marks a mistake of the user: a command line, a variable or a configuration file that cannot be.
// Of joined errors each becomes one.
func usageError(err error) error {
	if _, joined := err.(interface{ Unwrap() []error }); !joined {
		return &codeError{exitUsage, err}
	}
	var errs []error
	for _, e := range leaves(err) {
		errs = append(errs, &codeError{exitUsage, e})
	}
	return errors.Join(errs...)
}

// usagef is usageError with a text, in the form "<what>: <why>".
func usagef(format string, args ...any) error { return usageError(fmt.Errorf(format, args...)) }

// hintedError adds lines that tell the user how to go on.
type hintedError struct {
	error
	hints []string
}

func (e *hintedError) Unwrap() error { return e.error }

// withHint adds hints to an error; without any it is the error itself.
func withHint(err error, hints ...string) error {
	if len(hints) == 0 {
		return err
	}
	return &hintedError{err, hints}
}

// exitCodeOf is the one mapping from what a command returned to the exit code. Of several (errors.Join), an interrupt
// and a usage error come first, then 3, 4 and 1.
func exitCodeOf(err error) int {
	codes := map[int]bool{}
	for _, leaf := range leaves(err) {
		codes[codeOf(leaf)] = true
	}
	for _, code := range []int{exitInterrupted, exitUsage, exitFailure, exitUnanswered, exitFindings} {
		if codes[code] {
			return code
		}
	}
	return exitOK
}

func codeOf(err error) int {
	var coded *codeError
	switch {
	case errors.As(err, &coded):
		return coded.code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	default:
		return exitFailure
	}
}

// leaves takes joined errors apart.
func leaves(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, leaves(e)...)
	}
	return out
}

// printError says what went wrong, one line an error with its hints below. What has been reported, and an interrupt,
// need no words. Names of files and answers of servers may hold control characters, which are not printed.
func printError(w io.Writer, err error) {
	for _, leaf := range leaves(err) {
		var coded *codeError
		if errors.As(leaf, &coded) && coded.err == nil || errors.Is(leaf, context.Canceled) {
			continue
		}
		fmt.Fprintf(w, "edsctl: %s\n", render.Printable(leaf.Error()))
		var hinted *hintedError
		if errors.As(leaf, &hinted) {
			for _, hint := range hinted.hints {
				fmt.Fprintf(w, "hint: %s\n", render.Printable(hint))
			}
		}
	}
}
