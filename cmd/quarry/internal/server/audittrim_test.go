package server

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	auditrows "github.com/quarrysearch/quarry/projections/audit"
	"github.com/quarrysearch/quarry/schemas/event"
)

// trimConfig returns a configuration that keeps entries for one second, which validation
// would reject.
func trimConfig(t *testing.T) *config.Config {
	c := testConfig(t, "audit.sealEvery=1s")
	c.Audit.Retention = config.Duration(time.Second)
	return c
}

// firstKept returns the offset of the first audit record that the log still has, or 0 if
// there is none.
func (s *Server) firstKept(t *testing.T) event.Offset {
	t.Helper()
	if high, err := s.log.HighWater(t.Context(), event.TopicAudit); err != nil || high[0] == 0 {
		return 0
	}
	r, err := s.log.Tail(t.Context(), event.TopicAudit, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := r.Next(t.Context())
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return rec.Position.Offset
}

// waitForTrim adds entries, which age, until the log begins later than before.
func (s *Server) waitForTrim(t *testing.T) {
	t.Helper()
	before := s.firstKept(t)
	waitUntil(t, func() bool {
		s.asOperator(t, http.MethodGet, "/api/repos", "", "listing")
		s.accounts.TrimAudit(t.Context(), s.log.(eventlog.Trimmer))
		return s.firstKept(t) > before
	})
}

func (s *Server) mustVerify(t *testing.T) {
	t.Helper()
	waitUntil(t, func() bool { return s.accounts.CheckReady() == nil && s.accounts.AwaitAll(t.Context()) == nil })
	_, body := s.asOperator(t, http.MethodPost, "/api/ee/audit/verifications", "{}", "verify")
	if !strings.Contains(body, `"findings":0`) || strings.Contains(body, `"unproven":`) && !strings.Contains(body, `"unproven":0`) {
		t.Fatalf("verified: %s", body)
	}
}

func mustVerifyOffline(t *testing.T, c *config.Config) {
	t.Helper()
	report, err := VerifyAudit(t.Context(), Options{Config: c, Registerer: prometheus.NewRegistry()}, nil, nil)
	if err != nil || len(report.Findings) > 0 {
		t.Fatalf("verified offline: %v, %+v, want no findings", err, report)
	}
}

// TestTheAuditLogIsTrimmed trims the audit log twice, verifies it with and without the
// server, and rebuilds the rows from the rest of the log.
func TestTheAuditLogIsTrimmed(t *testing.T) {
	t.Parallel()
	c := trimConfig(t)
	s := openOnly(t, c)
	stop := run(t, s)
	s.appendAccountEvents(t, newUser("a", "OWNER"))
	for range 2 {
		s.waitForTrim(t)
		s.mustVerify(t)
		stop()
		mustVerifyOffline(t, c)
		if err := os.RemoveAll(c.AccountsDir()); err != nil {
			t.Fatal(err)
		}
		mustVerifyOffline(t, c)
		s = openOnly(t, c)
		stop = run(t, s)
		s.mustVerify(t)
	}
}

// TestNoTrimBesideAVerification checks that the log is not trimmed while a verification
// reads it from the beginning.
func TestNoTrimBesideAVerification(t *testing.T) {
	t.Parallel()
	s := runServer(t, trimConfig(t))
	s.waitForTrim(t)
	var release func()
	waitUntil(t, func() (held bool) { release, held = s.accounts.TryHold(); return held })
	first := s.firstKept(t)
	waitUntil(t, func() bool {
		s.asOperator(t, http.MethodGet, "/api/repos", "", "listing")
		plan, err := auditrows.PlanTrim(t.Context(), s.accounts.Store, s.log, time.Second)
		return err == nil && plan.First < plan.Before
	})
	s.accounts.TrimAudit(t.Context(), s.log.(eventlog.Trimmer))
	if got := s.firstKept(t); got != first {
		t.Errorf("the log begins at %d, and began at %d", got, first)
	}
	release()
	s.accounts.TrimAudit(t.Context(), s.log.(eventlog.Trimmer))
	if got := s.firstKept(t); got == first {
		t.Errorf("the log still begins at %d", got)
	}
}
