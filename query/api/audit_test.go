package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/auditlog"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// fakeAuditLog has three entries and records its calls.
type fakeAuditLog struct {
	query auditlog.Query
	heads []string
	err   error
}

func auditEntries() []*auditlog.Entry {
	at := time.Date(2026, 3, 4, 3, 6, 7, 8_900_000, time.UTC)
	return []*auditlog.Entry{
		{
			ID: "audit-123-0", Position: event.Position{Topic: event.TopicAudit, Offset: 123},
			Record: audit.Record{
				At: at, Action: audit.FetchedSource, TargetType: audit.TargetFile, Target: "github.com/meadow/kettle:README.md", RequestID: "5Q2W",
				Status: 200, Metadata: map[string]string{"ref": "main"},
				Actor: account.Actor{Kind: account.ActorKey, User: "u1", Credential: "k1", Address: "192.0.2.7", Client: "curl/8"},
			},
		},
		{
			ID: "accounts-17-0", Position: event.Position{Topic: event.TopicAccounts, Offset: 17}, Refused: "last_owner",
			Record: audit.Record{At: at, Action: audit.MemberRemoved, TargetType: audit.TargetUser, Target: "u1", Actor: account.Actor{Kind: account.ActorUser, User: "u1"}},
		},
		{
			ID: "audit-1-0", Position: event.Position{Topic: event.TopicAudit, Offset: 1},
			Record: audit.Record{At: at, Action: audit.Searched, TargetType: audit.TargetInstance, Actor: account.Actor{Kind: account.ActorAnonymous}},
		},
	}
}

func (l *fakeAuditLog) List(_ context.Context, q auditlog.Query) (auditlog.Page, error) {
	l.query = q
	return auditlog.Page{Entries: auditEntries(), Total: 151}, l.err
}

func (l *fakeAuditLog) Export(ctx context.Context, q auditlog.Query, after string, emit func(*auditlog.Entry) error) (string, error) {
	l.query = q
	if after == "x" {
		return "", failure.ErrCursor
	}
	for _, e := range auditEntries() {
		if err := emit(e); err != nil {
			return "", err
		}
	}
	return "accounts-17-0,audit-123-0", l.err
}

func (l *fakeAuditLog) Heads(context.Context) ([]auditlog.Head, error) {
	at := time.Date(2026, 3, 4, 3, 6, 7, 987654, time.UTC)
	return []auditlog.Head{
		{Topic: event.TopicAccounts, Last: 17, Hash: strings.Repeat("0a", 32), Records: 18, Entries: 12, At: at, SealedOffset: 17, SealedAt: at},
		{Topic: event.TopicAudit, Last: -1, SealedOffset: -1},
	}, l.err
}

func (l *fakeAuditLog) Verify(_ context.Context, heads []string, _ func(auditlog.Report) error) (*auditlog.Report, error) {
	l.heads = heads
	if len(heads) > 0 && heads[0] == "x" {
		return nil, fmt.Errorf("%w: %q", failure.ErrAuditHead, heads[0])
	}
	at := event.Position{Topic: event.TopicAudit, Offset: 9}
	return &auditlog.Report{
		Topics:   []auditlog.TopicReport{{Topic: event.TopicAudit, Last: 11, Records: 12, Hash: strings.Repeat("0a", 32)}},
		Findings: []auditlog.Finding{{Kind: auditlog.FindingAltered, At: at, Message: "this record is not what it was"}},
	}, l.err
}

func TestAuditLog(t *testing.T) {
	w, log := newWorld(), &fakeAuditLog{}
	o := w.serverOptions()
	o.AuditLog, o.Version = log, "1.2.3"
	s := newServer(t, o)
	_, router := loadDocument(t)
	ask := func(method, target, body string) *httptest.ResponseRecorder {
		t.Helper()
		r := httptest.NewRequest(method, target, strings.NewReader(body))
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, r)
		if rec.Header().Get("Content-Type") == "application/json" {
			validateAnswer(t, target, router, r, rec)
		}
		return rec
	}
	rec := ask(http.MethodGet, "/api/ee/audit?since=2026-03-04T00:00:00%2B02:00&until=2026-03-05T00:00:00Z&page=2&action=user.read&actor=u1", "")
	want := `{"id":"audit-123-0","timestamp":"2026-03-04T03:06:07.008Z","action":"user.fetched_file_source","actorId":"u1","actorType":"user",` +
		`"targetId":"github.com/meadow/kettle:README.md","targetType":"file","sourcebotVersion":"1.2.3","metadata":{"address":"192.0.2.7",` +
		`"credential":"k1","position":"quarry.audit/0/123","ref":"main","requestId":"5Q2W","source":"curl/8","status":"200","via":"api_key"},"orgId":1}`
	if rec.Code != http.StatusOK || !strings.HasPrefix(rec.Body.String(), "["+want+",") {
		t.Errorf("%d %s\nwant %s", rec.Code, rec.Body, want)
	}
	for _, part := range []string{
		`"actorId":"anonymous","actorType":"anonymous","targetId":"1","targetType":"org"`, `"refused":"last_owner"`,
	} {
		if !strings.Contains(rec.Body.String(), part) {
			t.Errorf("no %s in %s", part, rec.Body)
		}
	}
	if got := rec.Header().Get("X-Total-Count"); got != "151" {
		t.Errorf("total %s, want \"151\"", got)
	}
	if link := rec.Header().Get("Link"); !strings.Contains(link, `</api/ee/audit?page=4&perPage=50&since=2026-03-04T00%3A00%3A00%2B02%3A00&until=2026-03-05T00%3A00%3A00Z&action=user.read&actor=u1>; rel="last"`) {
		t.Errorf("link %s", link)
	}
	q := auditlog.Query{
		Since: time.Date(2026, 3, 3, 22, 0, 0, 0, time.UTC), Until: time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC),
		Action: audit.ReadUser, Actor: "u1", Offset: 50, Limit: 50,
	}
	if log.query.Since = log.query.Since.UTC(); log.query != q {
		t.Errorf("asked for %+v, want %+v", log.query, q)
	}

	rec = ask(http.MethodGet, "/api/ee/audit/export?after=audit-1-0", "")
	lines := strings.Split(strings.TrimSpace(rec.Body.String()), "\n")
	if rec.Code != http.StatusOK || len(lines) != 4 || lines[0] != want || lines[3] != `{"next":"accounts-17-0,audit-123-0","complete":true}` {
		t.Errorf("export after a head: %d and %d lines, want 200 and 4, the first one %s:\n%s", rec.Code, len(lines), want, rec.Body)
	}
	if rec = ask(http.MethodGet, "/api/ee/audit/head", ""); rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), `"head":"quarry.accounts/0/17:0a0a`) {
		t.Errorf("GET of the heads: %d %s, want that of quarry.accounts", rec.Code, rec.Body)
	}
	rec = ask(http.MethodPost, "/api/ee/audit/verifications", `{"heads":["0a"]}`)
	if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), `"kind":"altered"`) || !strings.HasSuffix(rec.Body.String(), "data: [DONE]\n\n") || len(log.heads) != 1 {
		t.Errorf("verify against a head: %d, %d heads compared, want 200 and one, an altered entry and [DONE]:\n%s", rec.Code, len(log.heads), rec.Body)
	}
}

// TestAuditLogRefuses sends invalid requests, and requests without permission.
func TestAuditLogRefuses(t *testing.T) {
	w, log := newWorld(), &fakeAuditLog{}
	o := w.serverOptions()
	o.AuditLog = log
	s := newServer(t, o)
	for _, test := range []struct {
		method, target, body, who string
		status                    int
		code                      string
	}{
		{"GET", "/api/ee/audit?since=2026-03-04", "", "", 400, "INVALID_QUERY_PARAMS"},
		{"GET", "/api/ee/audit?since=2026-03-04T00:00:00Z&until=2026-03-04T00:00:00Z", "", "", 400, "INVALID_QUERY_PARAMS"},
		{"GET", "/api/ee/audit?since=2026-03-04T00:00:00Z&until=2026-03-04T00:30:00%2B01:00", "", "", 400, "INVALID_QUERY_PARAMS"},
		{"GET", "/api/ee/audit?perPage=101", "", "", 400, "INVALID_QUERY_PARAMS"},
		{"GET", "/api/ee/audit?page=", "", "", 400, "INVALID_QUERY_PARAMS"},
		{"GET", "/api/ee/audit/export?after=x", "", "", 400, "INVALID_QUERY_PARAMS"},
		{"GET", "/api/ee/audit/export?until=now", "", "", 400, "INVALID_QUERY_PARAMS"},
		{"POST", "/api/ee/audit/verifications", `{"heads":["x"]}`, "", 400, "INVALID_REQUEST_BODY"},
		{"POST", "/api/ee/audit/verifications", `{"heads":"x"}`, "", 400, "INVALID_REQUEST_BODY"},
		{"GET", "/api/ee/audit", "", "member", 403, "INSUFFICIENT_PERMISSIONS"},
		{"GET", "/api/ee/audit/export", "", "ownerkey", 403, "INSUFFICIENT_PERMISSIONS"},
		{"GET", "/api/ee/audit/head", "", "nobody", 401, "NOT_AUTHENTICATED"},
	} {
		r := httptest.NewRequest(test.method, test.target, strings.NewReader(test.body))
		if test.body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		if test.who != "" {
			r.Header.Set("Authorization", "Bearer "+test.who)
		}
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, r)
		if rec.Code != test.status || !strings.Contains(rec.Body.String(), `"errorCode":"`+test.code+`"`) {
			t.Errorf("%s %s as %q: %d %s, want %d %s", test.method, test.target, test.who, rec.Code, rec.Body, test.status, test.code)
		}
	}
	if log.query != (auditlog.Query{}) && log.query.Limit != 0 {
		t.Errorf("the log was asked: %+v", log.query)
	}
	bare := newServer(t, newWorld().serverOptions())
	rec := httptest.NewRecorder()
	bare.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/api/ee/audit", nil))
	if rec.Code != http.StatusServiceUnavailable {
		t.Errorf("a process without a log: %d %s", rec.Code, rec.Body)
	}
}
