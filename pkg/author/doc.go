// Package author makes and changes assignments: create, edit, fix, format, convert and the JSON Schema.
//
// An edit is a list of patches on the bytes of a file at the places that its tree knows, so that comments, order, quotes
// and line ends outside the edit stay as they are. The result is read again and must hold exactly the messages that the
// edit is to give; otherwise there is an error and nothing is written.
package author
