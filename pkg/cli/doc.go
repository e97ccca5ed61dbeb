// Package cli is the command line: one file a command, the flags and where their values come from, and the one place
// that maps errors to exit codes. It composes the other packages and holds no rule of its own.
//
// A command is an options struct, a constructor that declares flags and help, and a run function that calls the
// packages and hands values to render. Nothing here exits, logs or touches the process's streams: see Env.
package cli
