package serve

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/edsctl/edsctl/pkg/xds"
)

// TestWatchSurvivesRestart ends the server under a watch and starts it again on the same port with another assignment.
func TestWatchSurvivesRestart(t *testing.T) {
	t.Parallel()
	for _, transport := range []xds.Transport{xds.SotW, xds.Delta, xds.REST} {
		t.Run(string(transport), func(t *testing.T) {
			t.Parallel()
			lis, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			addr := lis.Addr().String()
			run := func(lis net.Listener, address string) (stop func()) {
				s := New(Options{})
				if err := s.Set([]Assignment{assignment("a", address)}); err != nil {
					t.Error(err)
				}
				ctx, cancel := context.WithCancel(context.Background())
				done := make(chan error, 1)
				go func() { done <- s.Serve(ctx, lis) }()
				return func() {
					cancel()
					if err := <-done; err != nil {
						t.Error(err)
					}
				}
			}
			stop := run(lis, "127.0.0.1")
			o := options(addr)
			o.Transport, o.Reconnect, o.RefreshDelay = transport, true, 10*time.Millisecond
			tr := xds.NewTracker([]string{"a"})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			closes := 0
			err = xds.Watch(ctx, o, []string{"a"}, func(ev *xds.Event) error {
				tr.Add(ev)
				switch {
				case ev.Kind == xds.Closed:
					closes++
				case ev.Kind == xds.Received && addressOf(tr, "a") == "127.0.0.1" && closes == 0 && stop != nil:
					stop()
					again, err := net.Listen("tcp", addr)
					if err != nil {
						return xds.Stop(nil)
					}
					stop = run(again, "127.0.0.2")
				case ev.Kind == xds.Received && addressOf(tr, "a") == "127.0.0.2":
					return xds.Stop(nil)
				}
				return nil
			})
			stop()
			if err != nil || addressOf(tr, "a") != "127.0.0.2" {
				t.Errorf("after the restart %q, %v", addressOf(tr, "a"), err)
			}
		})
	}
}
