package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/ingest/webhook"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// publicPush is a push of an unlisted repository that claims to be public.
var publicPush = strings.Replace(push, `"id":9,`, `"id":9,"private":false,`, 1)

// decodeAll returns the events of records.
func decodeAll(t *testing.T, records []event.Record) (out []event.Event) {
	t.Helper()
	for _, rec := range records {
		_, ev, err := event.Decode(rec)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, ev)
	}
	return out
}

// TestUnlistedRepositories checks that a repository is registered as the host describes
// it, as private if it cannot be confirmed, and not at all if the host does not have it,
// with and without a catalog.
func TestUnlistedRepositories(t *testing.T) {
	confirmed := code.Repository{
		ID: code.NewRepositoryID("github.com", "9"), Kind: code.GitHub, Name: "github.com/meadow/new", CloneURL: "https://github.com/meadow/true.git",
	}
	for _, test := range []struct {
		name    string
		catalog bool
		err     error
		status  int
		want    string // of the registration
	}{
		{"confirmed", true, nil, http.StatusAccepted, "https://github.com/meadow/true.git false hub"},
		{"confirmed without a catalog", false, nil, http.StatusAccepted, "https://github.com/meadow/true.git false hub"},
		{"unconfirmed", true, fmt.Errorf("%w: 401", webhook.ErrUnconfirmed), http.StatusAccepted, "https://github.com/meadow/new.git true hub"},
		// The payload must not replace what may be registered.
		{"unconfirmed without a catalog", false, fmt.Errorf("%w: 401", webhook.ErrUnconfirmed), http.StatusAccepted, ""},
		{"absent", true, webhook.ErrHostLacks, http.StatusForbidden, ""},
		{"host down", true, errors.New("no route to host"), http.StatusServiceUnavailable, ""},
	} {
		log := new(memoryLog)
		o := newOptions(log)
		var recorded []audit.Record
		o.Audit = func(_ context.Context, r audit.Record) { recorded = append(recorded, r) }
		if !test.catalog {
			o.Repositories = nil
		}
		o.Confirm = func(_ context.Context, h webhook.Hint) (code.Repository, error) {
			if h.Identity != "9" || h.Connection != "hub" {
				t.Errorf("%s: hint %+v", test.name, h)
			}
			return confirmed, test.err
		}
		w := postDelivery(newReceiver(t, o), "d", publicPush)
		got := ""
		for _, ev := range decodeAll(t, log.records) {
			if e, ok := ev.(*event.RepositoryRegistered); ok {
				got = fmt.Sprint(e.Repository.CloneURL, " ", e.Repository.Private, " ", e.Repository.Connection)
				if e.PrivateMark == nil || *e.PrivateMark != 0 {
					t.Errorf("%s: private mark %v, want 0", test.name, e.PrivateMark)
				}
			}
		}
		if w.Code != test.status || got != test.want {
			t.Errorf("%s: %d, registered %q, want %d and %q\n%s", test.name, w.Code, got, test.status, test.want, w.Body)
		}
		if registered := got != "" && test.catalog; registered != (len(recorded) == 1) || registered && (recorded[0].Action != audit.RegisteredRepository || recorded[0].Metadata["delivery"] != "d") {
			t.Errorf("%s: audit records %+v", test.name, recorded)
		}
	}
}

// TestNarrowingPushes checks which pushes say that their repository is private, and that
// the change is in the audit log.
func TestNarrowingPushes(t *testing.T) {
	known := strings.Replace(push, "meadow/new", "meadow/known", 2)
	for _, test := range []struct {
		name, body string
		catalog    bool
		want       bool
		recorded   int
	}{
		{"not said", known, true, false, 0},
		{"public", strings.Replace(known, `"id":9,`, `"id":9,"private":false,`, 1), true, false, 0},
		{"private", strings.Replace(known, `"id":9,`, `"id":9,"private":true,`, 1), true, true, 1},
		{"private, without a catalog", strings.Replace(known, `"id":9,`, `"id":9,"private":true,`, 1), false, true, 0},
	} {
		log := new(memoryLog)
		o := newOptions(log)
		recorded := 0
		o.Audit = func(_ context.Context, r audit.Record) {
			recorded++
			if r.Action != audit.ChangedRepository || r.Target != "chosen/name" || r.Metadata["cause"] != "delivery" || r.Metadata["private"] != "true" {
				t.Errorf("%s: audit record %+v", test.name, r)
			}
		}
		if !test.catalog {
			o.Repositories = nil
		}
		postDelivery(newReceiver(t, o), "d", test.body)
		all := decodeAll(t, log.records)
		if p, ok := all[len(all)-1].(*event.Push); !ok || p.Private != test.want || recorded != test.recorded {
			t.Errorf("%s: %+v, %d audit records, want private %v and %d", test.name, all, recorded, test.want, test.recorded)
		}
	}
}
