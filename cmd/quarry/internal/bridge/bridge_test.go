package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/quarrysearch/quarry/query/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server answers every call with its headers, after a configured number of failures.
type server struct {
	mu    sync.Mutex
	fail  []error
	block bool
	sent  int
}

func (s *server) sendMessage(ctx context.Context, message []byte, h http.Header) ([]byte, error) {
	s.mu.Lock()
	s.sent++
	var err error
	if len(s.fail) > 0 {
		err, s.fail = s.fail[0], s.fail[1:]
	}
	s.mu.Unlock()
	m := parseMessage(message)
	switch {
	case err != nil:
		return nil, err
	case s.block && m.Method == "tools/call":
		<-ctx.Done()
		return nil, ctx.Err()
	case m.ID == nil && m.Method != "":
		return nil, nil
	case m.Method == "initialize":
		return []byte(`{"jsonrpc":"2.0","id":1,` + "\n" + `"result":{"protocolVersion":"2025-11-25"}}`), nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":"%s %s %s"}`, m.ID, h.Get("Mcp-Protocol-Version"), h.Get("Mcp-Method"), h.Get("Mcp-Name")), nil
}

// runBridge runs a bridge over lines, one after the other, and returns its output.
func runBridge(t *testing.T, s *server, in io.Reader) (out, log string) {
	t.Helper()
	var o, l bytes.Buffer
	b := Bridge{Send: s.sendMessage, Out: &o, Log: &l}
	if err := b.Run(t.Context(), in); err != nil {
		t.Error(err)
	}
	return o.String(), l.String()
}

func TestCarries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, w := io.Pipe()
		go func() {
			for _, line := range []string{
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
				`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
				`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"grep"}}`,
				``,
				`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"grep","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
			} {
				_, _ = io.WriteString(w, line+"\n")
				synctest.Wait()
			}
			_ = w.Close()
		}()
		out, log := runBridge(t, &server{}, in)
		want := `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}
{"jsonrpc":"2.0","id":"a","result":"2025-11-25  "}
{"jsonrpc":"2.0","id":3,"result":"2026-07-28 tools/call grep"}
`
		if out != want || log != "" {
			t.Errorf("have\n%s%swant\n%s", out, log, want)
		}
	})
}

// TestTriesAgain checks that the bridge waits for a server that restarts, and reports one
// that stays unavailable.
func TestTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := &client.Later{Err: errors.New("no server answers")}
		began := time.Now()
		s := &server{fail: []error{gone, &client.Later{Err: errors.New("busy"), After: 3 * time.Second}}}
		out, log := runBridge(t, s, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if !strings.Contains(out, `"result"`) || log != "quarry: no server answers; trying again\n" || time.Since(began) != 3250*time.Millisecond {
			t.Errorf("after %s: %s%s", time.Since(began), out, log)
		}
		s = &server{fail: slices.Repeat([]error{gone}, 100)}
		out, _ = runBridge(t, s, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"))
		if out != `{"error":{"code":-32000,"message":"quarry: no server answers"},"id":1,"jsonrpc":"2.0"}`+"\n" || s.sent != maxTries {
			t.Errorf("%d tries: %s", s.sent, out)
		}
	})
}

func TestFailures(t *testing.T) {
	s := &server{fail: []error{errors.New("not authenticated")}}
	out, log := runBridge(t, s, strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"ping"}`))
	if out != `{"error":{"code":-32000,"message":"quarry: not authenticated"},"id":7,"jsonrpc":"2.0"}`+"\n" || log != "quarry: not authenticated\n" {
		t.Errorf("%s%s", out, log)
	}
	s = &server{fail: []error{errors.New("no")}}
	if out, _ = runBridge(t, s, strings.NewReader(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); out != "" {
		t.Errorf("a notification was answered: %s", out)
	}
	long := strings.Repeat("x", 3*MaxLine) + "\n" + `{"jsonrpc":"2.0","id":8,"method":"ping"}` + "\n"
	if out, _ = runBridge(t, &server{}, strings.NewReader(long)); strings.Count(out, "\n") != 2 || !strings.Contains(out, `"id":null`) || !strings.Contains(out, `"id":8`) {
		t.Errorf("after a line that is too long: %s", out)
	}
	if out, _ = runBridge(t, &server{}, strings.NewReader(strings.Repeat("x", 2*MaxLine))); strings.Count(out, "\n") != 1 {
		t.Errorf("a line that is too long and never ends: %s", out)
	}
}

// TestCancels checks that a canceled request ends and gets no response.
func TestCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, w := io.Pipe()
		go func() {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"grep"}}`+"\n")
			synctest.Wait()
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`+"\n")
			_ = w.Close()
		}()
		if out, log := runBridge(t, &server{block: true}, in); out+log != "" {
			t.Errorf("%s%s", out, log)
		}
	})
}
