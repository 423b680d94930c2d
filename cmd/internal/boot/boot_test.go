package boot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/tracing"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func discardLogger() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestGroupStopsInReverseOrder(t *testing.T) {
	g := NewGroup(discardLogger(), time.Minute)
	var order []string // written by one actor at a time, which this test checks
	for _, name := range []string{"log", "worker", "http"} {
		g.Add(name, func(ctx context.Context) error {
			<-ctx.Done()
			order = append(order, name)
			return ctx.Err()
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Run(ctx); err != nil {
		t.Fatalf("Run = %v, want nil after a stop that was asked for", err)
	}
	if got := strings.Join(order, " "); got != "http worker log" {
		t.Errorf("stopped in the order %q, want \"http worker log\"", got)
	}
}

func TestGroupFailureStopsAll(t *testing.T) {
	broken := errors.New("broken")
	g := NewGroup(discardLogger(), time.Minute)
	g.Add("steady", func(ctx context.Context) error { <-ctx.Done(); return nil })
	g.Add("faulty", func(context.Context) error { return broken })
	err := g.Run(t.Context())
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "faulty") {
		t.Errorf("Run = %v, want the error of faulty", err)
	}
}

func TestGroupEarlyReturnIsAnError(t *testing.T) {
	g := NewGroup(discardLogger(), time.Minute)
	g.Add("short", func(context.Context) error { return nil })
	if err := g.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "short") {
		t.Errorf("Run = %v, want an error that names the actor", err)
	}
}

func TestGroupBoundsTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		g := NewGroup(discardLogger(), time.Second)
		g.Add("stuck", func(context.Context) error { <-release; return nil })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		start := time.Now()
		err := g.Run(ctx)
		if !errors.Is(err, ErrDrain) || !strings.Contains(err.Error(), "stuck") {
			t.Errorf("Run = %v, want ErrDrain that names the actor", err)
		}
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("waited %v, want the bound of 1s", waited)
		}
		close(release)
	})
}

func TestHTTPFinishesRequestsInFlight(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	entered, finish := make(chan struct{}), make(chan struct{})
	h := NewHTTP(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-finish
		_, _ = io.WriteString(w, "done")
	}), discardLogger())
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- h.Run(ctx) }()

	type answer struct {
		body []byte
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		res, err := client.Get("http://" + listener.Addr().String())
		if err != nil {
			answers <- answer{err: err}
			return
		}
		body, err := io.ReadAll(res.Body)
		answers <- answer{body, errors.Join(err, res.Body.Close())}
	}()
	<-entered
	cancel()
	close(finish)
	if a := <-answers; a.err != nil || string(a.body) != "done" {
		t.Errorf("request in flight got %q, %v", a.body, a.err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Run = %v", err)
	}
}

// TestSlowHeader checks that the server closes connections that do not finish the header
// of a request, send an endless one, or send no further request.
func TestSlowHeader(t *testing.T) {
	for name, c := range map[string]struct{ sent, answer string }{
		"a header that stops":  {"GET / HTTP/1.1\r\nHost: h\r\n", ""},
		"nothing at all":       {"", ""},
		"nothing more":         {"GET / HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200"},
		"a header without end": {"GET / HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("x", maxHeaderBytes+8<<10), "HTTP/1.1 431"},
		"a path without end":   {"GET /" + strings.Repeat("x", maxHeaderBytes+8<<10) + " HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 431"},
	} {
		synctest.Test(t, func(t *testing.T) {
			listener := clocktest.NewListener()
			h := NewHTTP(listener, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), discardLogger())
			ctx, cancel := context.WithCancel(t.Context())
			stopped := make(chan error, 1)
			go func() { stopped <- h.Run(ctx) }()
			conn, err := listener.DialContext(ctx, "tcp", "server")
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.SetDeadline(time.Now().Add(2 * max(h.server.ReadHeaderTimeout, h.server.IdleTimeout)))
			go func() { _, _ = io.WriteString(conn, c.sent) }() // the server may close the connection before it has read everything
			answer, err := io.ReadAll(conn)
			if os.IsTimeout(err) || !strings.HasPrefix(string(answer), c.answer) || (c.answer == "" && strings.Contains(string(answer), "200")) {
				t.Errorf("%s: %.100q, %v", name, answer, err)
			}
			_ = conn.Close()
			cancel()
			<-stopped
		})
	}
}

func TestNewLogger(t *testing.T) {
	for _, c := range []struct{ level, format, want string }{
		{"info", "text", "level=INFO msg=hello"},
		{"warn", "text", ""},
		{"info", "json", `"msg":"hello"`},
	} {
		var out bytes.Buffer
		level, err := ParseLevel(c.level)
		if err != nil {
			t.Fatal(err)
		}
		log, err := NewLogger(&out, level, c.format)
		if err != nil {
			t.Fatal(err)
		}
		log.Info("hello")
		if !strings.Contains(out.String(), c.want) || (c.want == "" && out.Len() > 0) {
			t.Errorf("%s %s: %q", c.level, c.format, out.String())
		}
	}
	if _, err := ParseLevel("loud"); err == nil {
		t.Error("level loud was taken")
	}
	if _, err := NewLogger(io.Discard, slog.LevelInfo, "xml"); err == nil {
		t.Error("format xml was taken")
	}
}

func TestRegistryHasBuildInfo(t *testing.T) {
	families, err := NewRegistry("v9").Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "quarry_build_info" {
			return
		}
	}
	t.Error("quarry_build_info is missing")
}

// TestLogHoldsNoCredential logs an error whose text contains a credential.
func TestLogHoldsNoCredential(t *testing.T) {
	const secret = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	for _, format := range []string{FormatText, FormatJSON} {
		var out bytes.Buffer
		log, err := NewLogger(&out, slog.LevelInfo, format)
		if err != nil {
			t.Fatal(err)
		}
		log.With("with", "qx_"+secret).Error("qx_"+secret, "error", fmt.Errorf("bad line qx_%s", secret), "text", "https://u:"+secret+"@h",
			slog.Group("group", "text", "qx_"+secret), "several", []string{"qx_" + secret}, "any", slog.AnyValue("qx_"+secret), "commit", secret)
		if n := strings.Count(out.String(), secret); n != 1 { // a digest is not a credential
			t.Errorf("%s: the secret is there %d times:\n%s", format, n, &out)
		}
	}
}

// TestTracesAreNamedInFull checks that the ID of a trace is not masked, although it looks like a
// key.
func TestTracesAreNamedInFull(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	var out strings.Builder
	logger, err := NewLogger(&out, slog.LevelInfo, FormatText)
	if err != nil {
		t.Fatal(err)
	}
	logger.Info("pushed", tracing.IDKey, id, "other", id)
	if text := out.String(); !strings.Contains(text, "trace_id="+id) || strings.Contains(text, "other="+id) {
		t.Error(text)
	}
}

// TestDurationsHaveUnits checks that the key of a duration names its unit, in both
// formats.
func TestDurationsHaveUnits(t *testing.T) {
	for format, want := range map[string]string{FormatText: "duration_ms=1500.25", FormatJSON: `"duration_ms":1500.25`} {
		var out strings.Builder
		logger, err := NewLogger(&out, slog.LevelInfo, format)
		if err != nil {
			t.Fatal(err)
		}
		logger.Info("fetched", "duration", 1500*time.Millisecond+250*time.Microsecond)
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s, want %s", format, out.String(), want)
		}
	}
}
