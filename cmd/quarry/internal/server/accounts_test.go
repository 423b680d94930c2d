package server

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/secrets"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/projections/accountrows"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/ledger"
	"github.com/quarrysearch/quarry/schemas/replay"
)

var bySystem = account.Actor{Kind: account.ActorSystem}

func newUser(id account.UserID, role account.Role) *event.UserCreated {
	return &event.UserCreated{
		User: id, Email: string(id) + "@example.com", Role: role, State: account.StateActive, By: bySystem, At: time.Now().UTC(),
	}
}

// appendAccountEvents appends account events and waits until they are readable.
func (s *Server) appendAccountEvents(t testing.TB, events ...event.Event) event.Position {
	t.Helper()
	at, err := accountrows.NewEvents(s.log, boot.Now).Append(t.Context(), events...)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.accounts.Directory.Await(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	return at
}

// TestAccountsStay checks that users, the secret and the operator's token survive a
// restart, and that their files are private.
func TestAccountsStay(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	s := openOnly(t, c)
	stop := run(t, s)
	s.appendAccountEvents(t, newUser("a", account.RoleOwner))
	again := s.appendAccountEvents(t, newUser("b", account.RoleOwner), newUser("a", account.RoleOwner))
	if why, ok := s.accounts.Directory.Outcome(again); why != "id_taken" || !ok {
		t.Errorf("the second user of an ID: %q, %t", string(why), ok)
	}
	files := map[string]string{}
	for _, name := range []string{secrets.FileName, operator.FileName} {
		path := filepath.Join(c.Data, name)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("%s has mode %s", name, got)
		}
		b, _ := os.ReadFile(path)
		files[name] = string(b)
	}
	if info, err := os.Stat(c.AccountsDir()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the rows of the accounts: %v, %v", info, err)
	}
	stop()

	s = openOnly(t, c)
	run(t, s)
	waitUntil(t, func() bool { return s.accounts.CheckReady() == nil })
	if users := s.accounts.Directory.Users(); len(users) != 2 || s.accounts.Directory.Owners() != 2 {
		t.Errorf("%d users after a restart", len(users))
	}
	for name, want := range files {
		if got, _ := os.ReadFile(filepath.Join(c.Data, name)); string(got) != want {
			t.Errorf("%s is another one after a restart", name)
		}
	}
	if token := operator.Token(c.Data); !strings.HasPrefix(token, account.PrefixOperator) {
		t.Error("the operator's token is not found where commands look for it")
	}
}

// TestAccountsAreRebuiltFromTheLog starts with rows that another version wrote.
func TestAccountsAreRebuiltFromTheLog(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	s := openOnly(t, c)
	stop := run(t, s)
	s.appendAccountEvents(t, newUser("a", account.RoleOwner))
	stop()
	rows, err := store.Open(c.AccountsDir(), store.Options{CacheBytes: store.MinCacheBytes})
	if err != nil {
		t.Fatal(err)
	}
	b := rows.NewBatch()
	for _, err := range []error{
		b.SetSchema("accounts", 1000), b.Set([]byte("auz"), []byte("of another form")), b.Commit(), rows.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	index, err := os.ReadFile(filepath.Join(c.ProjectionsDir(), "CURRENT"))
	if err != nil {
		t.Fatal(err)
	}
	s = openOnly(t, c)
	run(t, s)
	waitUntil(t, func() bool { return s.accounts.CheckReady() == nil })
	if users := s.accounts.Directory.Users(); len(users) != 1 || users[0].ID != "a" {
		t.Errorf("users %v", users)
	}
	if now, _ := os.ReadFile(filepath.Join(c.ProjectionsDir(), "CURRENT")); !bytes.Equal(now, index) {
		t.Error("the index was rebuilt, too")
	}
}

// TestAccountsOfAnotherLog starts with rows that are ahead of the log.
func TestAccountsOfAnotherLog(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	s := openOnly(t, c)
	stop := run(t, s)
	s.appendAccountEvents(t, newUser("a", account.RoleOwner))
	stop()
	for _, dir := range []string{c.LogDir(), c.ProjectionsDir()} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	s = openOnly(t, c)
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "remove "+c.AccountsDir()) {
		t.Errorf("Run = %v", err)
	}
}

// TestReplayLeavesAccountsAlone rebuilds the index, including to a time before the first
// user.
func TestReplayLeavesAccountsAlone(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	s := openOnly(t, c)
	stop := run(t, s)
	s.appendAccountEvents(t, newUser("a", account.RoleOwner))
	stop()
	for _, order := range []replay.Request{{}, {To: "1970-01-01T00:00:00Z"}} {
		r, err := OpenRebuild(t.Context(), Options{Config: c, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Switch(t.Context(), order, func(int64, int64) {}); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		s := openOnly(t, c)
		stop := run(t, s)
		waitUntil(t, func() bool { return s.accounts.CheckReady() == nil })
		if s.accounts.Directory.Owners() != 1 {
			t.Error("the owner is gone")
		}
		stop()
	}
}

// TestLogOfBefore opens a log that was written before accounts existed.
func TestLogOfBefore(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	log, err := embeddedlog.Open(c.LogDir(), embeddedlog.Options{Partitions: 4})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), event.TopicEvents, 3, event.Record{Value: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	s := runServer(t, c)
	s.appendAccountEvents(t, newUser("a", account.RoleOwner))
	if s.accounts.Directory.Owners() != 1 {
		t.Error("there is no owner")
	}
}

// TestUnreadableAccountRecord appends an account record of a later version. It becomes a
// dead letter that cannot be replayed.
func TestUnreadableAccountRecord(t *testing.T) {
	t.Parallel()
	s := runServer(t, testConfig(t))
	rec, err := event.Encode(event.Envelope{ID: "1", Source: "/test", Time: time.Now()}, newUser("a", account.RoleOwner))
	if err != nil {
		t.Fatal(err)
	}
	for i := range rec.Headers {
		if rec.Headers[i].Name == "ce_type" {
			rec.Headers[i].Value = []byte("dev.quarry.user.created.v9")
		}
	}
	at, err := s.log.Append(t.Context(), event.TopicAccounts, 0, rec)
	if err != nil {
		t.Fatal(err)
	}
	s.appendAccountEvents(t, newUser("b", account.RoleOwner)) // the projection continues after it
	var letters []ledger.DeadLetter
	waitUntil(t, func() bool {
		letters, _ = s.follower.List(ledger.DeadLetterQuery{})
		return len(letters) > 0
	})
	if l := letters[0]; l.Of != at[0] || !strings.Contains(l.Reason, "newer Quarry") {
		t.Errorf("letter %+v", l)
	}
	if known, shown, err := s.apiOptions.DeadLetters.GetDeadLetter(t.Context(), letters[0].Position); err != nil || len(shown.Value) > 0 || known.ValueBytes == 0 {
		t.Errorf("shown %d of %d bytes, %v: a value may hold the hash of a password", len(shown.Value), known.ValueBytes, err)
	}
	if _, err := s.apiOptions.DeadLetters.ReplayDeadLetter(t.Context(), letters[0].Position); err == nil || !strings.Contains(err.Error(), "undone") {
		t.Errorf("replay: %v", err)
	}
	if err := s.apiOptions.DeadLetters.DropDeadLetter(t.Context(), letters[0].Position, ""); err != nil {
		t.Error(err)
	}
}

// TestFirstOwnerIsInvited reads the log output of the process and the file that it names,
// as an administrator does who starts a server.
func TestFirstOwnerIsInvited(t *testing.T) {
	t.Parallel()
	c := testConfig(t, "publicUrl=https://code.example/")
	start := func() (*Server, *logBuffer, func()) {
		out, registry := new(logBuffer), prometheus.NewRegistry()
		s, err := Open(t.Context(), Options{Config: c, Logger: slog.New(slog.NewTextHandler(out, nil)), Registerer: registry, Gatherer: registry})
		if err != nil {
			t.Fatal(err)
		}
		return s, out, run(t, s)
	}
	for range 2 {
		s, out, stop := start()
		waitUntil(t, func() bool { return strings.Contains(out.String(), "no owner yet") })
		value, file := s.auth.SetupValue(), filepath.Join(c.Data, operator.SetupFileName)
		if link := operator.SetupLink(c.Data); link != "https://code.example/setup?token="+value {
			t.Errorf("the link is %q", link)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file of the link: %v, %v", info, err)
		}
		if !strings.Contains(out.String(), "path="+file) {
			t.Errorf("the log does not name %s:\n%s", file, out)
		}
		stop()
		for _, secret := range []string{operator.Token(c.Data), value} {
			if strings.Contains(out.String(), secret) {
				t.Error("a secret is logged")
			}
		}
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after the stop, the file of a link that has ended: %v, want %v", err, fs.ErrNotExist)
		}
	}
	s, _, stop := start()
	waitUntil(t, func() bool { return operator.SetupLink(c.Data) != "" })
	s.appendAccountEvents(t, newUser("a", account.RoleOwner))
	waitUntil(t, func() bool { return operator.SetupLink(c.Data) == "" })
	stop()
	// A killed process leaves such a file.
	if err := os.WriteFile(filepath.Join(c.Data, operator.SetupFileName), []byte("http://x/setup?token=qo_0"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, out, stop := start()
	waitUntil(t, func() bool { return s.accounts.CheckReady() == nil && operator.SetupLink(c.Data) == "" })
	if status, _ := getURL(t, s.URL()+"/healthz"); status != http.StatusOK {
		t.Errorf("status %d, want %d", status, http.StatusOK)
	}
	stop()
	if strings.Contains(out.String(), "no owner yet") {
		t.Errorf("there is an owner:\n%s", out)
	}
}
