package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
)

// frameWriter returns the data of the frames of a stream, as clients read them.
func frameWriter(t *testing.T, body io.Reader) []string {
	t.Helper()
	var out []string
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "data: "):
			out = append(out, strings.TrimPrefix(line, "data: "))
		case line != "" && !strings.HasPrefix(line, ":"):
			t.Errorf("line %q is no frame", line)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

type frame struct {
	Type  string
	Stats struct {
		ActualMatchCount int
		FlushReason      string
	}
	Accumulated *struct{ TotalMatchCount int } `json:"accumulatedStats"`
	Exhaustive  *bool                          `json:"isSearchExhaustive"`
	Files       []json.RawMessage
	Infos       []struct{ Name string } `json:"repositoryInfo"`
	Error       struct {
		StatusCode int
		ErrorCode  string
	}
}

func decodeFrame(t *testing.T, text string) (f frame) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		t.Fatalf("frame %q: %v", text, err)
	}
	return f
}

func TestStream(t *testing.T) {
	w := newWorld()
	s := newServer(t, w.serverOptions())
	rec := postRequest(s, "/api/stream_search", `{"query":"boil","matches":10}`)
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"} {
		if got := rec.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	got := frameWriter(t, rec.Body)
	if len(got) < 3 || got[len(got)-1] != "[DONE]" {
		t.Fatalf("frames of a stream for boil: want chunks, the final frame and [DONE], have %.300q", got)
	}
	var files []json.RawMessage
	matches, last := 0, len(got)-2
	for _, text := range got[:last] {
		f := decodeFrame(t, text)
		if f.Type != "chunk" || len(f.Infos) == 0 || len(f.Infos) > len(f.Files) || f.Stats.FlushReason == "" {
			t.Errorf("a frame before the last: want a chunk of files, their repositories and a reason, have %.300s", text)
		}
		matches += f.Stats.ActualMatchCount
		files = append(files, f.Files...)
	}
	final := decodeFrame(t, got[last])
	if final.Type != "final" || final.Accumulated == nil || final.Accumulated.TotalMatchCount != matches || final.Exhaustive == nil || !*final.Exhaustive {
		t.Errorf("the last frame of an exhaustive stream with %d matches: %.300s", matches, got[last])
	}
	var blocking struct{ Files []json.RawMessage }
	if err := json.Unmarshal(postRequest(s, "/api/search", `{"query":"boil","matches":10}`).Body.Bytes(), &blocking); err != nil || len(files) != len(blocking.Files) {
		t.Fatalf("%d files in the stream, %d in the answer, %v", len(files), len(blocking.Files), err)
	}
	for i := range files {
		if string(files[i]) != strings.TrimSpace(string(blocking.Files[i])) {
			t.Errorf("file %d: %s in the stream, %s in the answer", i, files[i], blocking.Files[i])
		}
	}
	if a, r := w.acquired.Load(), w.released.Load(); a != 2 || a != r {
		t.Errorf("%d views acquired, %d released", a, r)
	}
}

// TestStreamNotices checks that the final frame contains the notices of the query and of
// the search, and the related files.
func TestStreamNotices(t *testing.T) {
	s := newServer(t, newWorld().serverOptions())
	for query, want := range map[string][]string{"boil": nil, "boil -kettle lang:tetx": {"DIFFERENT_MEANING", "FILTER_SELECTS_NOTHING"}, "kettel": {"TERM_FINDS_NOTHING"}} {
		body := fmt.Sprintf(`{"query":%q,"matches":10}`, query)
		streamed := frameWriter(t, postRequest(s, "/api/stream_search", body).Body)
		for _, answer := range []string{postRequest(s, "/api/search", body).Body.String(), streamed[len(streamed)-2]} {
			var have struct{ Notices []struct{ Code string } }
			if err := json.Unmarshal([]byte(answer), &have); err != nil {
				t.Fatal(err)
			}
			var codes []string
			for _, n := range have.Notices {
				codes = append(codes, n.Code)
			}
			if !slices.Equal(codes, want) || (want == nil) == strings.Contains(answer, `"notices"`) {
				t.Errorf("%s: notices %q, want %q, in %.300s", query, codes, want, answer)
			}
			if strings.Contains(answer, `"related":[{"reason":"spelling","query":"Kettle","files":[{`) != (query == "kettel") {
				t.Errorf("%s: related files in %.300s", query, answer)
			}
		}
	}
}

func TestStreamOfRepositories(t *testing.T) {
	rec := postRequest(newServer(t, newWorld().serverOptions()), "/api/stream_search", `{"query":"type:repo e","matches":10}`)
	got := frameWriter(t, rec.Body)
	if len(got) != 3 || len(decodeFrame(t, got[0]).Infos) != 2 || decodeFrame(t, got[0]).Files == nil {
		t.Fatalf("frames %q", got)
	}
}

// TestStreamFailsBeforeItBegins checks that an error before the first part is a normal
// error response.
func TestStreamFailsBeforeItBegins(t *testing.T) {
	w := newWorld()
	s := newServer(t, w.serverOptions())
	for _, c := range []struct {
		body   string
		err    error
		status int
		code   string
	}{
		{`{"query":"a(b","matches":1,"isRegexEnabled":true}`, nil, 400, "FAILED_TO_PARSE_QUERY"},
		{`{"matches":1}`, nil, 400, "INVALID_REQUEST_BODY"},
		{`{"query":"context:team x","matches":1}`, nil, 404, "SEARCH_CONTEXT_NOT_FOUND"},
		{`{"query":"x","matches":1}`, search.ErrBusy, 503, "UNAVAILABLE"},
		{`{"query":"x","matches":1}`, errors.New("disk"), 500, "UNEXPECTED_ERROR"},
	} {
		w.err = c.err
		rec := postRequest(s, "/api/stream_search", c.body)
		if rec.Code != c.status || !strings.Contains(rec.Body.String(), c.code) || rec.Header().Get("Content-Type") != "application/json" {
			t.Errorf("stream of %s, which fails with %v: %d %s, want %d %s as JSON", c.body, c.err, rec.Code, rec.Body, c.status, c.code)
		}
	}
	if a, r := w.acquired.Load(), w.released.Load(); a != r {
		t.Errorf("%d views acquired, %d released", a, r)
	}
}

// TestStreamFailsLater checks that a later error is the last frame, without [DONE].
func TestStreamFailsLater(t *testing.T) {
	w := newWorld()
	w.err, w.late = errors.New("disk"), true
	rec := postRequest(newServer(t, w.serverOptions()), "/api/stream_search", `{"query":"boil","matches":1}`)
	got := frameWriter(t, rec.Body)
	if rec.Code != 200 || len(got) != 2 {
		t.Fatalf("%d, frames %q", rec.Code, got)
	}
	if last := decodeFrame(t, got[1]); last.Type != "error" || last.Error.StatusCode != 500 || last.Error.ErrorCode != "UNEXPECTED_ERROR" || strings.Contains(got[1], "disk") {
		t.Errorf("last frame %s", got[1])
	}
}

// TestStreamOfLeavingClient checks that a client that disconnects in the middle of a
// stream ends its search, and so does one that stalls.
func TestStreamOfLeavingClient(t *testing.T) {
	w := newWorld()
	w.block, w.late = true, true
	server := httptest.NewServer(newServer(t, w.serverOptions()))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	request, _ := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/api/stream_search", strings.NewReader(`{"query":"boil","matches":1}`))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, "data: {") {
		t.Fatalf("first line %q, %v", line, err)
	}
	cancel()
	_ = response.Body.Close()
	server.Close() // waits for the handler, whose search ends only when the client leaves
	if a, r := w.acquired.Load(), w.released.Load(); a != 1 || r != 1 {
		t.Errorf("%d views acquired, %d released", a, r)
	}
}

// stalling is a searcher with endless results.
type stalling struct {
	*world
	err chan error
}

func (s *stalling) Stream(ctx context.Context, _ corpus.View, _ search.Request, emit search.Emit) (*search.Result, error) {
	for files := s.filesOf("boil"); ; {
		if err := emit(files, search.Stats{}); err != nil {
			s.err <- err
			return nil, err
		}
	}
}

// TestStreamOfStallingClient checks that a client that does not read is disconnected
// after a time.
func TestStreamOfStallingClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stalling{newWorld(), make(chan error, 1)}
		o := s.serverOptions()
		o.Searcher, o.PartTimeout = s, 20*time.Millisecond
		conn := serveConnections(t, newServer(t, o)).dial(t)
		const body = `{"query":"x","matches":1}`
		if _, err := io.WriteString(conn, "POST /api/stream_search HTTP/1.1\r\nHost: h\r\nContent-Length: 25\r\n\r\n"+body); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := <-s.err; !errors.Is(err, context.DeadlineExceeded) && !strings.Contains(err.Error(), "timeout") {
			t.Errorf("the stream ended with %v", err)
		}
		if took := time.Since(began); took != o.PartTimeout {
			t.Errorf("the stream ended after %v, want %v", took, o.PartTimeout)
		}
	})
}
