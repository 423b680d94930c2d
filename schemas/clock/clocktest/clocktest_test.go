package clocktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// recorder is a test whose failures are expected.
type recorder struct {
	testing.TB
	end    time.Time // of the time that the tests have
	errors []string
}

func (r *recorder) Deadline() (time.Time, bool) { return r.end, !r.end.IsZero() }

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// record calls f with a recorder and returns what f reported.
func record(t *testing.T, end time.Time, f func(testing.TB)) []string {
	r := &recorder{TB: t, end: end}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r.errors
}

// work adds up n numbers, and prevents the compiler from leaving that out.
func work(n int) (sum int) {
	for i := range n {
		sum += i ^ sum
	}
	runtime.KeepAlive(sum)
	return sum
}

func TestCheckLinear(t *testing.T) {
	disturbed := false
	for _, c := range []struct {
		name string
		run  func(size int)
		fail bool
	}{
		{"linear", func(size int) { work(size * 20_000) }, false},
		{"quadratic", func(size int) { work(size * size * 4) }, true},
		{"quadratic, but cheap", func(size int) { work(size * size / 100_000) }, false},
		{"quadratic, but cheap, and disturbed at first", func(size int) {
			if !disturbed {
				disturbed = true
				work(8000 * 20_000)
			}
			work(size * size / 100)
		}, false},
	} {
		var sizes []int
		got := record(t, time.Time{}, func(tb testing.TB) {
			CheckLinear(tb, c.name, 8000, func(size int) {
				sizes = append(sizes, size)
				c.run(size)
			})
		})
		switch {
		case !c.fail && len(got) > 0:
			t.Errorf("%s: reported %q, want nothing; sizes %v", c.name, got, sizes)
		case c.fail && (len(got) != 1 || !strings.HasPrefix(got[0], "quadratic: size 1000 takes ")):
			t.Errorf("%s: reported %q, want the costs of both sizes; sizes %v", c.name, got, sizes)
		}
	}
}

// TestNewContext checks when the context ends: before the time that the tests have, and
// with the test if they have any time.
func TestNewContext(t *testing.T) {
	for _, c := range []struct {
		name    string
		remains time.Duration // 0: no bound
		want    time.Duration // of the context, at most
	}{
		{"no bound", 0, 0},
		{"ten minutes", 10 * time.Minute, 9*time.Minute + 30*time.Second},
		{"ten seconds", 10 * time.Second, 9 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &recorder{TB: t}
			if c.remains > 0 {
				r.end = time.Now().Add(c.remains)
			}
			end, ok := NewContext(r).Deadline()
			if ok != (c.remains > 0) {
				t.Fatalf("a deadline: %v, %v", end, ok)
			}
			if before := r.end.Sub(end); ok && (before <= 0 || before > c.remains-c.want) {
				t.Errorf("ends %v before the tests must, want at most %v", before, c.remains-c.want)
			}
		})
	}
	var ctx context.Context
	t.Run("ends with the test", func(t *testing.T) { ctx = NewContext(t) })
	if err := ctx.Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("after the test: %v, want canceled", err)
	}
}

func TestWaitUntil(t *testing.T) {
	n := 0
	WaitUntil(t, "three calls", func() bool { n++; return n == 3 })
	if n != 3 {
		t.Errorf("%d calls, want 3", n)
	}
	got := record(t, time.Now().Add(20*time.Millisecond), func(tb testing.TB) {
		WaitUntil(tb, "a state that never comes", func() bool { return false })
	})
	if len(got) != 1 || !strings.Contains(got[0], "a state that never comes") {
		t.Errorf("reported %q, want the state", got)
	}
}

// TestListener makes a server in a bubble wait for a request that does not come: its
// deadline passes at once, by the clock of the bubble.
func TestListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewListener()
		server := &http.Server{ReadHeaderTimeout: time.Hour, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.RemoteAddr) })}
		done := make(chan error)
		go func() { done <- server.Serve(l) }()
		client := &http.Client{Transport: &http.Transport{DialContext: l.DialContext}}
		response, err := client.Get("http://server/")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if _ = response.Body.Close(); err != nil || string(body) != "127.0.0.1:1" {
			t.Errorf("got %q, %v; want the address of the client", body, err)
		}
		conn, err := l.DialContext(t.Context(), "tcp", "server:80")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) || time.Since(began) != time.Hour {
			t.Errorf("a connection without a request ended after %v: %v, want %v after an hour", time.Since(began), err, io.EOF)
		}
		client.CloseIdleConnections()
		if err := errors.Join(conn.Close(), server.Close()); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("the server ended with %v", err)
		}
		if _, err := l.DialContext(t.Context(), "tcp", "server:80"); !errors.Is(err, net.ErrClosed) {
			t.Errorf("dial after Close: %v, want %v", err, net.ErrClosed)
		}
	})
}
