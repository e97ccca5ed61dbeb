// Package apiv2 is the part of version v2 of the API that is about assignments and how they are served, as frozen in
// April 2020. Its messages have the names of the full v2 API, so a program links either this or that.
package apiv2
