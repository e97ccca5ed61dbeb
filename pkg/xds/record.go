package xds

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
)

// recordingVersion is the version of the format (docs/recordings.md).
const recordingVersion = "1"

// RecordHeader begins a recording, or a further run in a recording that is appended to.
type RecordHeader struct {
	Recording string    `json:"edsctl_recording"` // version of the format
	Time      time.Time `json:"time"`
	Server    string    `json:"server"`
	Transport Transport `json:"transport"`
	Service   Service   `json:"service"`
	Resource  Version   `json:"resource_version"`
	Names     []string  `json:"names,omitempty"`
	NodeID    string    `json:"node_id"`
}

// recordLine is one event. Message is the protobuf message in base64, exactly as it travelled (but for the encoding's
// freedom in the order of fields); the fields beside it repeat what a reader looks for.
type recordLine struct {
	Time    time.Time `json:"time"`
	Event   Kind      `json:"event"`
	Stream  int       `json:"stream,omitempty"`
	Method  string    `json:"method,omitempty"`
	TypeURL string    `json:"type_url,omitempty"`
	Version string    `json:"version_info,omitempty"`
	Nonce   string    `json:"nonce,omitempty"`
	Names   []string  `json:"names,omitempty"`
	Dropped []string  `json:"unsubscribed,omitempty"`
	Ack     Ack       `json:"ack,omitempty"`
	Delta   bool      `json:"delta,omitempty"`
	Message string    `json:"message,omitempty"`
	Text    string    `json:"text,omitempty"`
}

// headerBegin is how the line of a RecordHeader begins.
const headerBegin = `{"edsctl_recording":`

// Recorder appends events to a file, one JSON object a line. A nil Recorder records nothing.
type Recorder struct {
	file *os.File
	w    *bufio.Writer
	stop func() bool // forgets the context
}

// ErrNoRecording is for a file that holds something else: nothing is appended to it.
var ErrNoRecording = errors.New("is no recording of edsctl")

// NewRecorder opens a recording for appending, and begins a run. The end of the context ends the wait for who reads a pipe.
func NewRecorder(ctx context.Context, path string, h RecordHeader) (*Recorder, error) {
	if holdsOther(path) {
		return nil, fmt.Errorf("%s: the file is there and %w", path, ErrNoRecording)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, syscall.ENXIO) {
		return nil, fmt.Errorf("open the recording %s: nobody reads the pipe", path)
	}
	if err != nil {
		return nil, fmt.Errorf("open the recording %s: %w", path, bare(err))
	}
	r := &Recorder{file: f, w: bufio.NewWriter(f)}
	r.stop = context.AfterFunc(ctx, func() { _ = f.SetWriteDeadline(time.Now()) }) // a regular file needs no deadline, and has none
	if endsWithin(path) {
		_, _ = r.w.WriteString("\n") // an error comes back with the next line
	}
	h.Recording = recordingVersion
	if err := r.line(h); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// holdsOther tells whether there is a file that is neither empty nor a recording.
func holdsOther(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false // who opens it to write says why
	}
	defer f.Close()
	head := make([]byte, len(headerBegin))
	n, _ := io.ReadFull(f, head)
	return string(head[:n]) != headerBegin
}

// endsWithin tells whether the last line of a file was cut off.
func endsWithin(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return false
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, info.Size()-1)
	return err == nil && last[0] != '\n'
}

func (r *Recorder) line(v any) error {
	data, err := json.Marshal(v)
	if err == nil {
		_, err = r.w.Write(append(data, '\n'))
	}
	if err == nil {
		err = r.w.Flush()
	}
	if err != nil {
		return fmt.Errorf("write the recording: %w", err)
	}
	return nil
}

// Record appends an event. The node of a request is kept: it holds no credentials. Headers are never recorded.
func (r *Recorder) Record(ev *Event) error {
	if r == nil {
		return nil
	}
	l := recordLine{
		Time: ev.Time.UTC(), Event: ev.Kind, Stream: ev.Stream, Method: ev.Method, TypeURL: ev.TypeURL, Version: ev.Version, Nonce: ev.Nonce,
		Names: ev.Names, Dropped: ev.Dropped, Ack: ev.Ack, Text: ev.Text,
	}
	if ev.Err != nil {
		l.Text = ev.Err.Error()
	}
	m := ev.Message
	if m == nil {
		m = ev.Request
	}
	switch m.(type) {
	case *discoveryv3.DeltaDiscoveryRequest, *discoveryv3.DeltaDiscoveryResponse:
		l.Delta = true
	}
	if m != nil {
		data, err := proto.Marshal(m)
		if err != nil {
			return fmt.Errorf("write the recording: %w", err)
		}
		l.Message = base64.StdEncoding.EncodeToString(data)
	}
	return r.line(l)
}

// Close ends the recording.
func (r *Recorder) Close() error {
	if r == nil {
		return nil
	}
	r.stop()
	return r.file.Close()
}

// notBegun is the error for a file that is something else.
func notBegun(line int) error {
	return fmt.Errorf("line %d: this is no recording of edsctl: it does not begin with edsctl_recording", line)
}

// isBegun tells whether a line may be the header of a run that was cut off.
func isBegun(line []byte) bool {
	return bytes.HasPrefix(line, []byte(headerBegin)) || strings.HasPrefix(headerBegin, string(bytes.TrimSpace(line)))
}

// ReadRecording calls fn with every event of a recording, as Watch did when it was made: resources are decoded, and what
// Envoy refuses of a response as a whole is in Refused. header is called at the begin of each run. A last line of a run
// that was cut off is left out.
func ReadRecording(in io.Reader, header func(RecordHeader) error, fn func(*Event) error) error {
	r := bufio.NewReaderSize(in, 1<<20)
	if first, err := r.Peek(1); err == nil && !bytes.Contains([]byte("{\n"), first) {
		return notBegun(1) // its line is not read: it may have no end
	}
	var run *replayed
	var cut error // the line before was no JSON, which only the last of a run may be
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		atEnd := errors.Is(err, io.EOF)
		if err != nil && !atEnd {
			return fmt.Errorf("read the recording: %w", err)
		}
		if atEnd && run == nil && !isBegun(line) {
			return notBegun(n)
		}
		if atEnd {
			return cut // of the last line itself nothing is said: complete lines end in a newline
		}
		if len(line) <= 1 {
			continue
		}
		var h RecordHeader
		if err := json.Unmarshal(line, &h); err != nil {
			at := max(0, bytes.LastIndex(line, []byte(headerBegin))) // files may have been joined behind a line that was cut off
			if json.Unmarshal(line[at:], &h) != nil {
				if run == nil && !isBegun(line) {
					return notBegun(n)
				}
				if cut == nil {
					cut = fmt.Errorf("line %d of the recording is no JSON object: %w", n, err)
				}
				continue
			}
			line = line[at:]
		}
		if cut != nil && h.Recording == "" {
			return cut
		}
		cut = nil
		switch {
		case h.Recording != "" && h.Recording != recordingVersion:
			return fmt.Errorf("line %d: the recording has format version %q, only %q is known", n, h.Recording, recordingVersion)
		case h.Recording != "":
			run = newReplayed(h)
			err = header(h)
		case run == nil:
			return notBegun(n)
		default:
			var ev *Event
			if ev, err = run.event(line); err != nil {
				return fmt.Errorf("line %d of the recording: %w", n, err)
			}
			err = fn(ev)
		}
		if err != nil {
			return endOf(err)
		}
	}
}
