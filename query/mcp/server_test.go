package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world holds the dependencies of a Server. The pattern of a search selects its result.
type world struct {
	found    search.Result
	searches atomic.Int64
	block    bool
	panics   bool
	err      error
	shards   []search.Shard // nil if this process has the index
	mu       sync.Mutex
	notes    []audit.Record
	noteErr  error
}

var kettle = &corpus.Repository{Repository: code.Repository{ID: 1, Name: "github.com/meadow/kettle"}}

func (*world) FindFiles(context.Context, corpus.View, search.FileRequest) (*search.FoundFiles, error) {
	return &search.FoundFiles{}, nil
}

func (w *world) Search(ctx context.Context, _ corpus.View, _ search.Request) (*search.Result, error) {
	w.searches.Add(1)
	if w.panics {
		panic("a broken invariant")
	}
	if w.block {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	out := w.found
	out.Files = slices.Clone(out.Files)
	return &out, w.err
}

type view struct{ corpus.View }

func (view) Release() {}

func (w *world) View(ctx context.Context) (corpus.View, error) {
	if w.shards != nil {
		return search.NewShards(ctx, w.shards)
	}
	return view{}, nil
}

// emptyShard is a session with a shard that has nothing, or that is lost.
type emptyShard struct {
	partition int32
	lost      bool
}

func (s emptyShard) Partitions() []int32 { return []int32{s.partition} }
func (emptyShard) Close()                {}
func (s emptyShard) Call(context.Context, *search.ShardCall) (*search.ShardReply, error) {
	if s.lost {
		return nil, fmt.Errorf("%w: connection refused by 10.0.0.1", search.ErrShardLost)
	}
	return &search.ShardReply{Open: &search.ShardState{}}, nil
}

func (w *world) Repository(_ context.Context, name string) (*code.Repository, error) {
	if name == kettle.Name {
		return &kettle.Repository, nil
	}
	return nil, fmt.Errorf("find: %w", code.ErrNotFound)
}

func (w *world) Repositories(context.Context, string, string) ([]*corpus.Repository, error) {
	return []*corpus.Repository{kettle}, nil
}

func (w *world) addRecord(_ context.Context, rec audit.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, rec)
	return w.noteErr
}

// noIndex is an empty index.
type noIndex struct{}

func (noIndex) Snapshot(context.Context, code.RepositoryID) (source.Snapshot, error) {
	return nil, errors.New("no index")
}

func newServer(t testing.TB, w *world) *Server {
	t.Helper()
	browser, err := source.New(source.Options{Index: noIndex{}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Searcher: w, FileFinder: w, Index: w, Source: browser, Note: w.addRecord, PublicURL: "http://localhost", Version: "1", Outline: analyze.Outline{Timeout: -1}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newPrincipal(user string, scopes ...account.Scope) *auth.Principal {
	return &auth.Principal{Actor: account.Actor{Kind: account.ActorKey, User: account.UserID(user)}, Scopes: scopes}
}

// postMessage sends a message as p; headers are pairs of name and value.
func postMessage(ctx context.Context, s *Server, p *auth.Principal, body string, header ...string) (*Response, error) {
	r := httptest.NewRequest(http.MethodPost, "/api/mcp", strings.NewReader(body)).WithContext(auth.With(ctx, p))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return s.Post(r)
}

func callOf(tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
}

// callTool calls a tool and returns its text, with the prefix "ERROR " if it failed.
func callTool(t *testing.T, s *Server, p *auth.Principal, tool, arguments string) string {
	t.Helper()
	out, err := postMessage(t.Context(), s, p, callOf(tool, arguments))
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	if err := json.Unmarshal(out.Body, &answer); err != nil || len(answer.Result.Content) != 1 {
		t.Fatalf("call %s with %s: %d %s, %v; want one piece of text", tool, arguments, out.Status, out.Body, err)
	}
	if answer.Result.IsError {
		return "ERROR " + answer.Result.Content[0].Text
	}
	return answer.Result.Content[0].Text
}

var reader = newPrincipal("ada", account.ScopeSearch, account.ScopeGit)

func TestScopes(t *testing.T) {
	s := newServer(t, &world{})
	for _, c := range []struct {
		p                       *auth.Principal
		tools                   int
		mayGrep, mayReadHistory bool
	}{
		{reader, 15, true, true},
		{newPrincipal("bob", account.ScopeSearch), 8, true, false},
		{newPrincipal("bob", account.ScopeGit), 7, false, true},
		{newPrincipal("bob", account.ScopeAdmin), 0, false, false},
	} {
		out, err := postMessage(t.Context(), s, c.p, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		if err != nil {
			t.Fatal(err)
		}
		// In the tokenizer o200k, 8,407 bytes of it were 1,993 tokens.
		if len(out.Body) > 2100*8407/1993 {
			t.Errorf("%v: tools/list has %d bytes", c.p.Scopes, len(out.Body))
		}
		var list struct {
			Result struct{ Tools []struct{ Name string } }
		}
		if err := json.Unmarshal(out.Body, &list); err != nil || len(list.Result.Tools) != c.tools {
			t.Errorf("%v: %d tools: %s, %v", c.p.Scopes, len(list.Result.Tools), out.Body, err)
		}
		if text := callTool(t, s, c.p, "grep", `{"pattern":"x"}`); strings.HasPrefix(text, "ERROR not permitted") == c.mayGrep {
			t.Errorf("%v: grep: %s", c.p.Scopes, text)
		}
		if text := callTool(t, s, c.p, "list_commits", `{"repo":"r"}`); strings.HasPrefix(text, "ERROR not permitted") == c.mayReadHistory {
			t.Errorf("%v: list_commits: %s", c.p.Scopes, text)
		}
	}
}

func TestMessages(t *testing.T) {
	s := newServer(t, &world{})
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, c := range []struct {
		body, want string
		status     int
	}{
		{ping, `"result":{}`, 200},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ``, 202},
		{`{"jsonrpc":"2.0","id":7,"method":"no/such"}`, `"id":7,"error":{"code":-32601`, 200},
		{`{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{}}`, `"error"`, 200},
		{`{"jsonrpc":"2.0","id":7,"method":"prompts/list"}`, `"prompts":[]`, 200},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"nothing"}}`, `unknown tool`, 200},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `"errorCode":"INVALID_REQUEST_BODY","message":"the id of a message is a string or an integer of at most 53 bits"`, 400},
		{`{`, `"statusCode":400,"errorCode":"INVALID_REQUEST_BODY","message":"not valid JSON"`, 400},
		{``, `-32700`, 400},
		{`7`, `-32600`, 400},
		{`[]`, `want 1 to 16 messages`, 400},
		{`[` + strings.Repeat(ping+",", 16) + ping + `]`, `want 1 to 16 messages`, 400},
		{`[` + ping + `]`, `"result":{}`, 200},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, `-32600`, 400},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `-32600`, 400},
	} {
		out, err := postMessage(t.Context(), s, reader, c.body)
		if err != nil || out.Status != c.status || !strings.Contains(string(out.Body), c.want) {
			t.Errorf("%.60s: %d %s, %v; want %d %s", c.body, out.Status, out.Body, err, c.status, c.want)
		}
	}
	if _, err := postMessage(t.Context(), s, reader, strings.Repeat(" ", MaxRequestBytes)+ping); !errors.Is(err, ErrRequestTooLarge) {
		t.Errorf("a large body: %v, want %v", err, ErrRequestTooLarge)
	}
	if _, err := postMessage(t.Context(), s, reader, ping, "Accept", "text/html"); !errors.Is(err, ErrNotAcceptable) {
		t.Errorf("Accept: text/html: %v, want %v", err, ErrNotAcceptable)
	}
	notification := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	if out, err := postMessage(t.Context(), s, reader, notification, "Mcp-Protocol-Version", strings.Repeat("1", 33)); err != nil || out.Status != 400 {
		t.Errorf("a long version: %+v, %v", out, err)
	}
	for _, accept := range []string{"application/json", "*/*", "text/event-stream, application/json;q=0.5"} {
		if out, err := postMessage(t.Context(), s, reader, ping, "Accept", accept); err != nil || out.Status != 200 {
			t.Errorf("Accept: %s: %+v, %v", accept, out, err)
		}
	}
}

func TestSessions(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	secret := []byte("a secret that two processes have")
	one, two := newSessions(secret, func() time.Time { return now }), newSessions(secret, func() time.Time { return now })
	other := newSessions([]byte("another"), func() time.Time { return now })
	anonymous, operator := &auth.Principal{Actor: account.Actor{Kind: account.ActorAnonymous}}, &auth.Principal{Actor: account.Actor{Kind: account.ActorOperator}}
	id := one.newSession(reader)
	for _, c := range []struct {
		s    *sessions
		id   string
		p    *auth.Principal
		want error
	}{
		{one, id, reader, nil},
		{two, id, reader, nil},
		{two, id, &auth.Principal{Actor: account.Actor{Kind: account.ActorUser, User: "ada"}}, nil}, // another credential of the same user
		{one, id, newPrincipal("bob"), ErrSessionForeign},
		{one, id, anonymous, ErrSessionForeign},
		{one, one.newSession(anonymous), reader, ErrSessionForeign},
		{one, one.newSession(anonymous), operator, ErrSessionForeign},
		{one, one.newSession(operator), operator, nil},
		{other, id, reader, ErrSessionUnknown},
		{one, id[:len(id)-1], reader, ErrSessionUnknown},
		{one, id + "A", reader, ErrSessionUnknown},
		{one, differentFirst(id), reader, ErrSessionUnknown},
		{one, strings.Repeat("A", 1<<20), reader, ErrSessionUnknown},
		{one, "", reader, ErrSessionUnknown},
	} {
		if err := c.s.checkSession(c.id, c.p); !errors.Is(err, c.want) {
			t.Errorf("%.80s as %+v: %v, want %v", c.id, c.p.Actor, err, c.want)
		}
	}
	one.endSession(id)
	if err := one.checkSession(id, reader); !errors.Is(err, ErrSessionUnknown) {
		t.Errorf("after its end: %v, want %v", err, ErrSessionUnknown)
	}
	late := one.newSession(reader)
	now = now.Add(SessionLifetime)
	if err := one.checkSession(late, reader); !errors.Is(err, ErrSessionUnknown) {
		t.Errorf("a day later: %v, want %v", err, ErrSessionUnknown)
	}
	for i := range 2 * maxEnded {
		one.endSession(fmt.Sprint(i))
	}
	if n := len(one.mu.ended) + len(one.mu.before); n > maxEnded {
		t.Errorf("%d ended sessions are remembered", n)
	}
}

// differentFirst returns id with a different first letter.
func differentFirst(id string) string {
	if id[0] == 'A' {
		return "B" + id[1:]
	}
	return "A" + id[1:]
}

// TestClientLeaves checks that calls end when the client closes its request.
func TestClientLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, &world{block: true})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = postMessage(ctx, s, reader, callOf("grep", `{"pattern":"x"}`))
		}()
		synctest.Wait()
		cancel()
		<-done
		synctest.Wait() // fails if a goroutine is left
	})
}

func TestCallsHaveAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{block: true}
		s := newServer(t, w)
		began := time.Now()
		text := callTool(t, s, reader, "grep", `{"pattern":"x"}`)
		if took := time.Since(began); took != CallTimeout || !strings.HasPrefix(text, "ERROR It took more than 30s. Narrow it") {
			t.Errorf("after %s: %s", took, text)
		}
	})
}

// TestCallsAtOnce checks that the concurrent calls of one principal are bounded and do
// not delay other principals.
func TestCallsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{block: true}
		s := newServer(t, w)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		for range MaxCalls {
			go func() {
				_, _ = postMessage(ctx, s, reader, callOf("grep", `{"pattern":"x"}`))
				done <- struct{}{}
			}()
		}
		synctest.Wait()
		if text := callTool(t, s, reader, "grep", `{"pattern":"x"}`); !strings.HasPrefix(text, "ERROR too many calls at once: 8 are running.") {
			t.Errorf("a ninth call at once: %q, want an error that says how many run", text)
		}
		w.block = false
		if text := callTool(t, s, newPrincipal("bob", account.ScopeSearch), "list_repos", `{}`); !strings.Contains(text, "1 repository.\n") {
			t.Errorf("list_repos of another person meanwhile: %q, want one repository", text)
		}
		cancel()
		for range MaxCalls {
			<-done
		}
		synctest.Wait()
		if n := len(s.slots.mu.of); n != 0 {
			t.Errorf("%d principals are still counted", n)
		}
	})
}

func TestAudit(t *testing.T) {
	w := &world{}
	s := newServer(t, w)
	if _, err := postMessage(t.Context(), s, reader, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agent","version":"7"}}}`); err != nil {
		t.Fatal(err)
	}
	callTool(t, s, reader, "grep", `{"pattern":"`+strings.Repeat("p", 1000)+`","repo":"github.com/meadow/kettle"}`)
	callTool(t, s, newPrincipal("bob"), "grep", `{"pattern":"x"}`)
	if len(w.notes) != 3 {
		t.Fatalf("%d records: %+v", len(w.notes), w.notes)
	}
	session, call, denied := w.notes[0], w.notes[1], w.notes[2]
	if session.Action != audit.StartedMCPSession || session.Metadata["client"] != "agent 7" || session.Actor.User != "ada" {
		t.Errorf("a session is recorded as %+v, want the agent and the person", session)
	}
	if call.Action != audit.CalledTool || call.Target != "grep" || call.Metadata["repo"] != kettle.Name || len(call.Metadata["pattern"]) != audit.MaxMetadataBytes || call.Metadata["outcome"] != "answered" {
		t.Errorf("a call is recorded as %+v, want the tool, its repository and a pattern that is cut", call)
	}
	if denied.Actor.User != "bob" || denied.Metadata["outcome"] != "failed" {
		t.Errorf("a call that is denied is recorded as %+v, want a failure of bob", denied)
	}
	// A call that cannot be recorded must not be answered.
	w.noteErr = errors.New("disk full")
	w.found = search.Result{Exhaustive: true, Stats: search.Stats{Matches: 1, Files: 1}, Files: []search.FileMatch{{Repo: kettle, Path: "a.go"}}}
	if text := callTool(t, s, reader, "grep", `{"pattern":"x"}`); !strings.HasPrefix(text, "ERROR The audit log is unavailable") || strings.Contains(text, "a.go") {
		t.Errorf("grep while the audit log fails: %q, want an error and no file", text)
	}
	if _, err := postMessage(t.Context(), s, reader, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agent","version":"7"}}}`); err == nil {
		t.Error("a session began that was not written down")
	}
}

// TestOwnErrorsStayHere checks that agents do not see internal errors.
func TestOwnErrorsStayHere(t *testing.T) {
	w := &world{err: fmt.Errorf("read /var/lib/quarry/store: %w", io.ErrUnexpectedEOF)}
	if text := callTool(t, newServer(t, w), reader, "grep", `{"pattern":"x"}`); strings.Contains(text, "/var") || !strings.HasPrefix(text, "ERROR The server failed") {
		t.Errorf("a search that fails: %q, want an error without the reason", text)
	}
	w.panics = true
	if text := callTool(t, newServer(t, w), reader, "grep", `{"pattern":"x"}`); strings.Contains(text, "invariant") || !strings.HasPrefix(text, "ERROR The server failed") {
		t.Errorf("a search that panics: %q, want an error without the reason", text)
	}
	w.panics, w.err = false, search.ErrBusy
	if text := callTool(t, newServer(t, w), reader, "grep", `{"pattern":"x"}`); text != "ERROR The server is busy. Call again in a few seconds.\n" {
		t.Errorf("a search on a busy server: %q, want the advice to call again", text)
	}
}

// TestLostShards checks that answers without a part of the index say so, and that a server
// which reaches no part asks for another call.
func TestLostShards(t *testing.T) {
	w := &world{shards: []search.Shard{emptyShard{0, false}, emptyShard{1, true}}, found: search.Result{Stopped: search.StopShardLost, LostPartitions: []int32{1}}}
	s := newServer(t, w)
	for name, arguments := range map[string]string{
		"grep": `{"pattern":"x"}`, "search": `{"query":"x"}`, "find_symbol_definitions": `{"symbol":"x"}`,
		"list_symbols": fmt.Sprintf(`{"repo":%q}`, kettle.Name),
	} {
		text := callTool(t, s, reader, name, arguments)
		if !strings.Contains(text, "Some repositories cannot be reached now") || strings.Contains(text, "Narrow") {
			t.Errorf("%s without a shard: %q", name, text)
		}
	}
	w.shards = w.shards[1:]
	if text := callTool(t, s, reader, "grep", `{"pattern":"x"}`); text != "ERROR The index cannot be reached now. Call again in a few seconds.\n" {
		t.Errorf("grep without any shard: %q", text)
	}
}

// TestAnswersAreBounded checks that an answer with many matches stays within its bound
// and explains how to request more.
func TestAnswersAreBounded(t *testing.T) {
	w := &world{found: search.Result{Exhaustive: true}}
	line := strings.Repeat("w ", 2500) + "\n"
	for i := range 300 {
		f := search.FileMatch{Repo: kettle, Path: fmt.Sprintf("%s/%d.go", strings.Repeat("d", 200), i)}
		for j := range 50 {
			at := search.Location{LineNumber: j + 1, Column: 1}
			end := search.Location{ByteOffset: 1, LineNumber: j + 1, Column: 2}
			f.Chunks = append(f.Chunks, search.Chunk{Content: []byte(line), Start: at, Ranges: []search.Range{{Start: at, End: end}}})
		}
		w.found.Files = append(w.found.Files, f)
	}
	w.found.Stats = search.Stats{Matches: 300 * 50, Files: 300}
	s := newServer(t, w)
	for _, c := range [][2]string{
		{"grep", `{"pattern":"w","limit":10000}`},
		{"grep", `{"pattern":"w"}`},
		{"grep", `{"pattern":"w","limit":10000,"context":10}`},
		{"glob", `{"pattern":"*.go","limit":10000}`},
		{"find_symbol_references", `{"symbol":"w","limit":1000}`},
	} {
		text := callTool(t, s, reader, c[0], c[1])
		if len(text) > DefaultTokens*bytesPerToken || !strings.Contains(text, "offset=") {
			t.Errorf("%v: %d bytes, ends %q", c, len(text), text[max(0, len(text)-200):])
		}
	}
	// The result does not contain all matches: each file must show how many more it has.
	w.found.Stats.Displayed = 100
	if text := callTool(t, s, reader, "grep", `{"pattern":"w"}`); !strings.Contains(text, "(at least 40 more)") {
		t.Errorf("grep whose result has not all matches: %.300s, want a file with at least 40 more", text)
	}
	w.found.Stats.Displayed = w.found.Stats.Matches
	if text := callTool(t, s, reader, "grep", `{"pattern":"w"}`); !strings.Contains(text, "(40 more)") {
		t.Errorf("grep whose result has all matches: %.300s, want a file with 40 more", text)
	}
	// Each file must be on exactly one page.
	seen := map[string]int{}
	for offset := 0; ; {
		text := callTool(t, s, reader, "glob", fmt.Sprintf(`{"pattern":"*.go","limit":10000,"offset":%d}`, offset))
		for path := range strings.FieldsSeq(text) {
			if strings.HasSuffix(path, ".go") {
				seen[path]++
			}
		}
		i := strings.Index(text, "offset=")
		if i < 0 {
			break
		}
		_, _ = fmt.Sscanf(text[i:], "offset=%d", &offset)
	}
	if len(seen) != 300 || slices.Max(slices.Collect(func(yield func(int) bool) {
		for _, n := range seen {
			yield(n)
		}
	})) != 1 {
		t.Errorf("%d files on pages", len(seen))
	}
}
