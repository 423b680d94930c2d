package webhook_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/generic"
	"github.com/quarrysearch/quarry/ingest/github"
	"github.com/quarrysearch/quarry/ingest/ingesttest"
	"github.com/quarrysearch/quarry/ingest/signature"
	"github.com/quarrysearch/quarry/ingest/webhook"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

const genericSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"

// memoryLog is an Appender that keeps the records, or fails if so configured.
type memoryLog struct {
	mu      sync.Mutex
	records []event.Record
	hints   []webhook.Hint
	err     error
	block   bool // until the context ends
}

func (l *memoryLog) Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.block {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if l.err != nil {
		return nil, l.err
	}
	if partition != -1 {
		return nil, fmt.Errorf("partition %d", partition)
	}
	var positions []event.Position
	for _, r := range records {
		r.Position = event.Position{Topic: topic, Offset: event.Offset(len(l.records))}
		l.records = append(l.records, r)
		positions = append(positions, r.Position)
	}
	return positions, nil
}

// catalog is a Repositories with a fixed list.
type catalog []code.Repository

func (c catalog) Find(_ context.Context, candidate code.Repository) (code.Repository, error) {
	for _, r := range c {
		same := false
		if a, err := code.ParseCloneURL(candidate.CloneURL); err == nil {
			b, _ := code.ParseCloneURL(r.CloneURL)
			same = a.Same(b)
		}
		if r.ID == candidate.ID || same || candidate.CloneURL == "" && r.Name == candidate.Name {
			return r, nil
		}
	}
	return code.Repository{}, fmt.Errorf("find: %w", code.ErrNotFound)
}

var now = time.Unix(1_700_000_000, 0)

func newOptions(log *memoryLog) webhook.Options {
	return webhook.Options{
		Kinds: map[code.HostKind]ingest.Open{code.GitHub: github.Open, code.GenericGitHost: generic.Open},
		Connections: []ingest.Connection{
			{Name: "hub", Kind: code.GitHub, Secrets: []string{"s3cret", "older"}, AutoRegister: true, Branches: []string{"release-*"}},
			{Name: "closed", Kind: code.GitHub, Secrets: []string{"s3cret"}},
			{Name: "git", Kind: code.GenericGitHost, Secrets: []string{genericSecret}, AutoRegister: true},
		},
		Appender: log,
		Repositories: catalog{
			{ID: 42, Kind: code.GenericGitHost, Name: "chosen/name", CloneURL: "git@github.com:meadow/known.git", Branches: []string{"*"}},
			{ID: 43, Kind: code.GitHub, Name: "github.com/meadow/old", CloneURL: "https://github.com/meadow/teapot.git", Connection: "hub", DefaultBranch: "trunk", Archived: true, Private: true},
		},
		Hint: func(h webhook.Hint) bool {
			if log != nil {
				log.hints = append(log.hints, h)
			}
			return true
		},
		Admit: func(_ context.Context, r code.Repository) error {
			if strings.Contains(r.CloneURL, "internal") {
				return errors.New("its host is not on the list of allowed ones")
			}
			if strings.Contains(r.CloneURL, "unresolved") {
				return fmt.Errorf("%w: lookup of its host: server misbehaving", failure.New(failure.Unreachable, "host cannot be reached"))
			}
			return nil
		},
		MaxBodyBytes: 1024,
		Now:          func() time.Time { return now },
	}
}

func newReceiver(t *testing.T, o webhook.Options) *webhook.Receiver {
	t.Helper()
	r, err := webhook.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestReceiver runs the scripts of testdata. A command is
//
//	deliver path=/webhooks/… [method=M] [sign=SECRET|standard] [event=E] [id=ID] [log=full|blocked]
//	log
//	hints
//
// deliver posts the input and prints the response; log prints the events appended, and
// hints the hints given, since the last one.
func TestReceiver(t *testing.T) {
	datadriven.Walk(t, "testdata/receiver", func(t *testing.T, path string) {
		log := new(memoryLog)
		o := newOptions(log)
		o.AppendTimeout = time.Millisecond
		r := newReceiver(t, o)
		seen := 0
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "log" {
				s := printRecords(t, log.records[seen:])
				seen = len(log.records)
				return s
			}
			if d.Cmd == "hints" {
				var b strings.Builder
				for _, h := range log.hints {
					fmt.Fprintf(&b, "%s of %s by %s, removed: %t\n", h.Identity, h.Repository.CloneURL, h.Connection, h.Removed)
				}
				log.hints = nil
				return cmp.Or(b.String(), "none\n")
			}
			return runDeliver(t, r, log, d)
		})
	})
}

func runDeliver(t *testing.T, r *webhook.Receiver, log *memoryLog, d *datadriven.TestData) string {
	args := map[string]string{"method": http.MethodPost, "id": "d-1", "event": "push"}
	for _, a := range d.CmdArgs {
		args[a.Key] = strings.Join(a.Vals, ",")
	}
	body := []byte(d.Input)
	req := httptest.NewRequest(args["method"], args["path"], bytes.NewReader(body))
	if _, ok := args["chunked"]; ok {
		req.ContentLength = -1
	}
	switch secret := args["sign"]; secret {
	case "":
	case "standard":
		key, _ := signature.ParseSecret(genericSecret)
		signature.SetStandard(req.Header, args["id"], time.Unix(1_700_000_000, 0), body, key)
	default:
		req.Header.Set("X-Hub-Signature-256", ingesttest.SignHMAC("sha256=", body, []byte(secret)))
		req.Header.Set("X-GitHub-Delivery", args["id"])
		req.Header.Set("X-GitHub-Event", args["event"])
	}
	log.err, log.block = nil, args["log"] == "blocked"
	if args["log"] == "full" {
		log.err = errors.New("disk full in /secret/place")
	}
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	out := fmt.Sprintf("%d %s", w.Code, w.Body)
	for _, name := range []string{"Allow", "Retry-After"} {
		if v := w.Header().Get(name); v != "" {
			out += fmt.Sprintf("%s: %s\n", name, v)
		}
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("%s: content type %q", d.Pos, got)
	}
	return out
}

func printRecords(t *testing.T, records []event.Record) string {
	var b strings.Builder
	for _, rec := range records {
		env, ev, err := event.Decode(rec)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(ev)
		fmt.Fprintf(&b, "%s key=%s source=%s\n  %s\n", env.Type, rec.Key, env.Source, text)
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

const push = `{"ref":"refs/heads/main","before":"1111111111111111111111111111111111111111","after":"2222222222222222222222222222222222222222",
"repository":{"id":9,"full_name":"meadow/new","clone_url":"https://github.com/meadow/new.git"}}`

func postDelivery(r http.Handler, id, body string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodPost, "/webhooks/github/hub", strings.NewReader(body))
	req.Header.Set("X-Hub-Signature-256", ingesttest.SignHMAC("sha256=", []byte(body), []byte("s3cret")))
	req.Header.Set("X-GitHub-Event", "push")
	req.Header.Set("X-GitHub-Delivery", id)
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	return w
}

func recordIDs(t *testing.T, records []event.Record) []string {
	var out []string
	for _, rec := range records {
		env, _, err := event.Decode(rec)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, env.ID)
	}
	return out
}

// TestEventIDsRepeat checks that a delivery that is repeated to another process, or after
// the recall table has forgotten it, has the same event IDs, and that other deliveries
// have different ones.
func TestEventIDsRepeat(t *testing.T) {
	first, second := new(memoryLog), new(memoryLog)
	postDelivery(newReceiver(t, newOptions(first)), "d-1", push)
	again := newReceiver(t, newOptions(second))
	postDelivery(again, "d-1", push)
	postDelivery(again, "d-2", push)
	a, b := recordIDs(t, first.records), recordIDs(t, second.records)
	if len(a) != 2 || len(b) != 4 || a[0] != b[0] || a[1] != b[1] {
		t.Fatalf("first %v, again %v", a, b)
	}
	distinct := map[string]bool{}
	for _, id := range b {
		distinct[id] = true
	}
	if len(distinct) != 4 {
		t.Errorf("IDs collide: %v", b)
	}
}

func TestRecallIsBounded(t *testing.T) {
	log := new(memoryLog)
	o := newOptions(log)
	o.RecentDeliveries = 2
	r := newReceiver(t, o)
	for _, id := range []string{"a", "b", "c", "c", "a"} {
		if w := postDelivery(r, id, push); w.Code != http.StatusAccepted {
			t.Fatalf("%s: %d", id, w.Code)
		}
	}
	// The second c is recalled, the second a has been forgotten.
	if got := len(log.records); got != 4*2 {
		t.Errorf("%d events, want 8", got)
	}
}

// TestFailureIsNotRecalled checks that a failed append is not recalled as a success.
func TestFailureIsNotRecalled(t *testing.T) {
	log := &memoryLog{err: errors.New("full")}
	r := newReceiver(t, newOptions(log))
	if w := postDelivery(r, "d", push); w.Code != http.StatusServiceUnavailable {
		t.Fatalf("status %d", w.Code)
	}
	log.err = nil
	if w := postDelivery(r, "d", push); w.Code != http.StatusAccepted || strings.Contains(w.Body.String(), "duplicate") {
		t.Errorf("status %d, %s", w.Code, w.Body)
	}
}

func TestWithoutCatalog(t *testing.T) {
	log := new(memoryLog)
	o := newOptions(log)
	o.Repositories = nil
	o.Confirm = func(_ context.Context, h webhook.Hint) (code.Repository, error) { return h.Repository, nil }
	r := newReceiver(t, o)
	postDelivery(r, "a", push)
	postDelivery(r, "b", push)
	var types []event.Type
	for _, rec := range log.records {
		env, _, _ := event.Decode(rec)
		types = append(types, env.Type)
	}
	want := []event.Type{event.TypeRepositoryRegistered, event.TypePush, event.TypePush}
	if fmt.Sprint(types) != fmt.Sprint(want) {
		t.Errorf("%v, want %v: registered once per process", types, want)
	}
}

func TestMetrics(t *testing.T) {
	o := newOptions(new(memoryLog))
	reg := prometheus.NewPedanticRegistry()
	o.Registerer, o.Connections = reg, o.Connections[:1]
	r := newReceiver(t, o)
	postDelivery(r, "a", push)
	postDelivery(r, "a", push)
	postDelivery(r, "b", "nonsense")
	r.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/webhooks/github/guess", nil))
	const want = `
# HELP quarry_webhook_deliveries_total Webhook deliveries by kind of host, connection and result.
# TYPE quarry_webhook_deliveries_total counter
quarry_webhook_deliveries_total{connection="hub",kind="github",result="aborted"} 0
quarry_webhook_deliveries_total{connection="hub",kind="github",result="accepted"} 1
quarry_webhook_deliveries_total{connection="hub",kind="github",result="duplicate"} 1
quarry_webhook_deliveries_total{connection="hub",kind="github",result="error"} 0
quarry_webhook_deliveries_total{connection="hub",kind="github",result="ignored"} 0
quarry_webhook_deliveries_total{connection="hub",kind="github",result="invalid"} 0
quarry_webhook_deliveries_total{connection="hub",kind="github",result="not_json"} 1
quarry_webhook_deliveries_total{connection="hub",kind="github",result="refused"} 0
quarry_webhook_deliveries_total{connection="hub",kind="github",result="slow"} 0
quarry_webhook_deliveries_total{connection="hub",kind="github",result="too_large"} 0
quarry_webhook_deliveries_total{connection="hub",kind="github",result="unauthenticated"} 0
quarry_webhook_deliveries_total{connection="hub",kind="github",result="unavailable"} 0
quarry_webhook_deliveries_total{connection="hub",kind="github",result="unknown_repository"} 0
quarry_webhook_deliveries_total{connection="unknown",kind="unknown",result="unknown_connection"} 1
# HELP quarry_webhook_inflight_bytes Bytes reserved for the bodies of deliveries in progress.
# TYPE quarry_webhook_inflight_bytes gauge
quarry_webhook_inflight_bytes 0
`
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "quarry_webhook_deliveries_total", "quarry_webhook_inflight_bytes"); err != nil {
		t.Error(err)
	}
}

// TestFull checks that a delivery is rejected and its body not read while the backlog is
// full.
func TestFull(t *testing.T) {
	log, full := new(memoryLog), true
	o := newOptions(log)
	o.Full = func() bool { return full }
	r := newReceiver(t, o)
	for _, want := range []int{http.StatusServiceUnavailable, http.StatusUnauthorized} {
		body := strings.NewReader(push)
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/webhooks/github/hub", body))
		if w.Code != want || full && (w.Header().Get("Retry-After") == "" || body.Len() < len(push)) {
			t.Errorf("full %t: %d %s, want %d", full, w.Code, w.Body, want)
		}
		full = false
	}
	if len(log.records) > 0 {
		t.Errorf("%d records were appended", len(log.records))
	}
}

// TestSlowBody checks that a sender that stops sending is cut off.
func TestSlowBody(t *testing.T) {
	o := newOptions(new(memoryLog))
	o.ReadTimeout = 20 * time.Millisecond
	server := httptest.NewServer(newReceiver(t, o))
	defer server.Close()
	body, sender := io.Pipe()
	defer func() { _ = sender.Close() }()
	go func() { _, _ = sender.Write([]byte("{")) }()
	resp, err := http.Post(server.URL+"/webhooks/github/hub", "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("status %d, want 408", resp.StatusCode)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, change := range map[string]func(*webhook.Options){
		"no appender":      func(o *webhook.Options) { o.Appender = nil },
		"unknown kind":     func(o *webhook.Options) { o.Connections[0].Kind = code.Gerrit },
		"bad name":         func(o *webhook.Options) { o.Connections[0].Name = "a/b" },
		"name twice":       func(o *webhook.Options) { o.Connections[1].Name = "hub" },
		"no secret":        func(o *webhook.Options) { o.Connections[0].Secrets = nil },
		"bounds in strife": func(o *webhook.Options) { o.MaxInFlightBytes = 1 },
		"negative bound":   func(o *webhook.Options) { o.ReadTimeout = -1 },
		"too many":         func(o *webhook.Options) { o.Connections = make([]ingest.Connection, webhook.MaxConnections+1) },
	} {
		o := newOptions(new(memoryLog))
		change(&o)
		if _, err := webhook.New(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
