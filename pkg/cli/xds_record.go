package cli

import (
	"context"
	"errors"
	"time"

	"github.com/edsctl/edsctl/pkg/xds"
)

// openRecording begins a run in a recording; without a file it returns a recorder that records nothing.
func openRecording(ctx context.Context, file string, o xds.Options, names []string) (*xds.Recorder, error) {
	if file == "" {
		return nil, nil
	}
	if file == stdoutName {
		return nil, usagef("--record: needs a file: standard output is for the result")
	}
	r, err := xds.NewRecorder(ctx, file, xds.RecordHeader{
		Time: time.Now().UTC(), Server: o.Dial.Target, Transport: o.Transport, Service: o.Service, Resource: o.ResourceVersion,
		Names: names, NodeID: o.Node.GetId(),
	})
	if errors.Is(err, xds.ErrNoRecording) {
		return nil, withHint(err, "give --record a new file, or a recording to append to")
	}
	return r, err
}

// refuseRecord refuses --record where no management server is asked.
func refuseRecord(record, admin, csds string) error {
	if record != "" && admin+csds != "" {
		return usagef("--record keeps what a management server sends: it cannot be combined with --admin or --csds")
	}
	return nil
}
