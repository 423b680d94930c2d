package front_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// everyone authenticates every request as the same principal and collects audit records.
type everyone struct {
	principal *auth.Principal
	records   []audit.Record
}

// Authenticate implements front.Authenticator.
func (e *everyone) Authenticate(*http.Request) (*auth.Principal, error) { return e.principal, nil }

// Note implements front.Auditor.
func (e *everyone) Note(_ context.Context, rec audit.Record) error {
	e.records = append(e.records, rec)
	return nil
}

// Record implements front.Auditor.
func (e *everyone) Record(ctx context.Context, rec audit.Record) error { return e.Note(ctx, rec) }

// textAnswer is a plain-text Answer.
type textAnswer struct {
	status int
	text   string
}

func (a textAnswer) Status() int { return a.status }

func (a textAnswer) Release() {}

func (a textAnswer) Write(w http.ResponseWriter) error {
	w.WriteHeader(a.status)
	_, err := io.WriteString(w, a.text)
	return err
}

const errorText = "ERROR OBJECT"

// newFront returns a Front that answers every error with a 500 and errorText.
func newFront(t *testing.T, change func(o *front.Options)) (*front.Front, *everyone, *prometheus.Registry, *bytes.Buffer) {
	t.Helper()
	callers := &everyone{principal: &auth.Principal{Actor: account.Actor{Kind: account.ActorOperator}, Role: account.RoleOwner, Scopes: []account.Scope{account.ScopeAdmin}}}
	reg, log := prometheus.NewRegistry(), &bytes.Buffer{}
	o := front.Options{
		Authenticator: callers, Audit: callers, PublicURL: "https://code.example",
		ErrorAnswer:  func(err error, _ string) front.Answer { return textAnswer{500, errorText + ": " + err.Error()} },
		MaxBodyBytes: 1 << 10, ReadTimeout: time.Minute, HandlerTimeout: time.Minute, WriteTimeout: time.Minute,
		Registerer: reg, Logger: slog.New(slog.NewJSONHandler(log, nil)),
	}
	if change != nil {
		change(&o)
	}
	f, err := front.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return f, callers, reg, log
}

// TestResponseIsNotFollowedByAnother checks that a handler that panics or fails produces
// one error response if it sent nothing, and a broken connection if its response has
// begun in any way.
func TestResponseIsNotFollowedByAnother(t *testing.T) {
	begin := map[string]func(w http.ResponseWriter){
		"nothing":         func(http.ResponseWriter) {},
		"an early hint":   func(w http.ResponseWriter) { w.WriteHeader(http.StatusEarlyHints) },
		"a status":        func(w http.ResponseWriter) { w.WriteHeader(http.StatusAccepted) },
		"a bare write":    func(w http.ResponseWriter) { fmt.Fprint(w, "half") },
		"a bare flush":    func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() },
		"a written flush": func(w http.ResponseWriter) { fmt.Fprint(w, "half"); _ = http.NewResponseController(w).Flush() },
	}
	for name, begin := range begin {
		for end, after := range map[string]func() error{
			"panic": func() error { panic("a defect") },
			"error": func() error { return io.ErrUnexpectedEOF },
		} {
			t.Run(name+", then "+end, func(t *testing.T) {
				f, callers, reg, log := newFront(t, nil)
				rt := &front.Route{Method: http.MethodGet, Path: "/x", Access: front.AccessOwner, Action: audit.ReadOperations}
				server := httptest.NewServer(f.WithChecks(f.StreamRoute(rt, func(w http.ResponseWriter, _ *http.Request) error {
					begin(w)
					return after()
				})))
				defer server.Close()
				response, err := http.Get(server.URL)
				body, status := []byte(nil), 0
				if err == nil {
					status = response.StatusCode
					body, err = io.ReadAll(response.Body)
					_ = response.Body.Close()
				}
				begun := name != "nothing" && name != "an early hint"
				if begun && strings.Contains(string(body), errorText) {
					t.Errorf("the response %q contains a second one", body)
				}
				if begun && end == "panic" && err == nil {
					t.Errorf("%d %q looks complete after a panic", status, body)
				}
				if !begun && (err != nil || status != 500 || !strings.HasPrefix(string(body), errorText)) {
					t.Errorf("have %d %q, %v; want a 500 with an error object", status, body, err)
				}
				server.Close() // waits for the handler
				if len(callers.records) != 1 {
					t.Errorf("%d audit records, want 1", len(callers.records))
				}
				if n := testutil.CollectAndCount(reg, "quarry_api_request_duration_seconds"); n != 1 {
					t.Errorf("%d rows of requests in the metrics, want 1", n)
				}
				if end == "panic" && !strings.Contains(log.String(), "panic in a request") {
					t.Errorf("the log has no panic: %s", log)
				}
			})
		}
	}
}

// TestRequestsThatSendNothing checks that they are logged and counted as the 200 that
// net/http sends.
func TestRequestsThatSendNothing(t *testing.T) {
	f, _, reg, _ := newFront(t, nil)
	rec := httptest.NewRecorder()
	f.Page("/page", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/page", nil))
	found, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range found {
		if family.GetName() != "quarry_api_request_duration_seconds" {
			continue
		}
		labels := fmt.Sprint(family.GetMetric()[0].GetLabel())
		if !strings.Contains(labels, `"/page"`) || !strings.Contains(labels, `"200"`) {
			t.Errorf("labels %s, want route /page and status 200", labels)
		}
		return
	}
	t.Error("the request is in no metric")
}

// TestRequestsAreLogged checks the line of each request, which has no query of an address,
// that successful probes have none, and that none is written unless the option is set.
func TestRequestsAreLogged(t *testing.T) {
	for _, logs := range []bool{true, false} {
		f, _, _, log := newFront(t, func(o *front.Options) { o.LogsRequests, o.Probes = logs, []string{"/healthz"} })
		handler := f.Page("/page/{name}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/healthz" && r.URL.RawQuery != "" {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			fmt.Fprint(w, "12345")
		}))
		ask := func(path string) string {
			log.Reset()
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
			return log.String()
		}
		line := ask("/page/a%20b?token=hidden")
		for _, want := range []string{`"level":"INFO"`, `"method":"GET"`, `"route":"/page/{name}"`, `"path":"/page/a%20b"`, `"status":200`, `"response_bytes":5`, `"address":"192.0.2.1"`, `"caller":"anonymous"`} {
			if strings.Contains(line, want) != logs {
				t.Errorf("requests are logged: %t; the line %q, want %s only if so", logs, line, want)
			}
		}
		if strings.Contains(line, "hidden") || strings.Count(line, "\n") > 1 {
			t.Errorf("a line with a secret, or several: %q", line)
		}
		if line := ask("/healthz"); line != "" {
			t.Errorf("a successful probe is logged as %q", line)
		}
		if line := ask("/healthz?fails"); (line != "") != logs {
			t.Errorf("requests are logged: %t; a failed probe as %q", logs, line)
		}
		f.Reconfigure(front.Limits{}, !logs)
		if line := ask("/page/a%20b"); (line != "") == logs {
			t.Errorf("requests are logged after they were to be: %t: %q", !logs, line)
		}
	}
}

// TestPagesOfThisOriginOnly checks that other origins cannot submit a page's form, even
// if the API is open to all origins.
func TestPagesOfThisOriginOnly(t *testing.T) {
	f, _, _, _ := newFront(t, func(o *front.Options) {
		o.AllowedOrigins = []string{"*"}
		o.SignInPaths = []string{"/api/sign-in"}
	})
	fine := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	send := func(h http.Handler, path string) int {
		r := httptest.NewRequest(http.MethodPost, path, nil)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		return rec.Code
	}
	for _, c := range []struct {
		name    string
		handler http.Handler
		path    string
		want    int
	}{
		{"a page", f.Page("/sign-in", fine), "/sign-in", 500},
		{"an API route", f.WithChecks(fine), "/api/search", 204},
		{"an API route that signs in", f.WithChecks(fine), "/api/sign-in", 500},
	} {
		if status := send(c.handler, c.path); status != c.want {
			t.Errorf("%s: a cross-site POST gets %d, want %d", c.name, status, c.want)
		}
	}
}

// TestOptions checks that New refuses options that leave requests unbounded or unchecked.
func TestOptions(t *testing.T) {
	callers := &everyone{}
	good := front.Options{
		Authenticator: callers, Audit: callers, ErrorAnswer: func(error, string) front.Answer { return nil }, PublicURL: "http://h",
		MaxBodyBytes: 1, ReadTimeout: 1, HandlerTimeout: 1, WriteTimeout: 1,
	}
	if _, err := front.New(good); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(o *front.Options){
		"no authenticator": func(o *front.Options) { o.Authenticator = nil },
		"no audit":         func(o *front.Options) { o.Audit = nil },
		"no error answer":  func(o *front.Options) { o.ErrorAnswer = nil },
		"no public URL":    func(o *front.Options) { o.PublicURL = "" },
		"a public path":    func(o *front.Options) { o.PublicURL = "/quarry" },
		"no body bound":    func(o *front.Options) { o.MaxBodyBytes = 0 },
		"no read time":     func(o *front.Options) { o.ReadTimeout = 0 },
		"no handler time":  func(o *front.Options) { o.HandlerTimeout = 0 },
		"no write time":    func(o *front.Options) { o.WriteTimeout = -1 },
		"a bad origin":     func(o *front.Options) { o.AllowedOrigins = []string{"tools.example"} },
	} {
		o := good
		spoil(&o)
		if _, err := front.New(o); err == nil {
			t.Errorf("New accepts %s", name)
		}
	}
}
