package server

import (
	"errors"
	"testing"

	"github.com/quarrysearch/quarry/projections/accountrows"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/auditlog"
)

// TestFailedSignInsAreWrittenDown checks that a failed sign-in is one entry of the audit
// log, with its address and without the typed text.
func TestFailedSignInsAreWrittenDown(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t))
	from := account.Actor{Kind: account.ActorAnonymous, Address: "192.0.2.7"}
	for range 7 { // the last two are throttled
		if _, err := s.auth.SignIn(t.Context(), from, "hunter2@example.org", "correct horse"); err == nil || errors.Is(err, auth.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	log := accountrows.NewAuditLog(s.accounts, sealKey(s.masterSecret))
	var page auditlog.Page
	waitUntil(t, func() (done bool) {
		var err error
		page, err = log.List(t.Context(), auditlog.Query{Action: audit.SignInFailed, Limit: 10})
		return err != nil || page.Total >= 7
	})
	if page.Total != 7 {
		t.Fatalf("%d entries, want 7", page.Total)
	}
	for _, e := range page.Entries {
		if e.Actor.Address != from.Address || e.Target != "" {
			t.Errorf("%+v", e.Record)
		}
	}
}
