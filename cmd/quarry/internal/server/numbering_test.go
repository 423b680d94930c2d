package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/logdriver"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/registry"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/views"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections/numbering"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// newEmptyRepository creates a repository without commits and returns its path.
func newEmptyRepository(t *testing.T, root, name string) string {
	t.Helper()
	dir := filepath.Join(root, name)
	if out, err := exec.Command("git", "init", "--quiet", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init %s: %v\n%s", dir, err, out)
	}
	return dir
}

// registerNamed registers an empty repository under a name through the API and returns
// its number in the response.
func registerNamed(t *testing.T, s *Server, root, name string) code.RepositoryNumber {
	t.Helper()
	dir := newEmptyRepository(t, root, name)
	var r registration
	if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"name":%q}`, dir, name), &r); status != http.StatusAccepted {
		t.Fatalf("register %s: %d %s", name, status, r.Message)
	}
	return code.RepositoryNumber(r.RepoID)
}

// numbersByName returns the numbers in the repository list, by name.
func numbersByName(t *testing.T, s *Server) map[string]code.RepositoryNumber {
	t.Helper()
	all, err := s.repositories.Repositories(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]code.RepositoryNumber{}
	for _, r := range all {
		out[r.Name] = s.accounts.Numbers.OfRepository(r.ID)
	}
	return out
}

// TestNumbersFollowTheOrderOfRegistration registers repositories whose events are in four
// partitions, restarts, removes one and registers it again, and rebuilds the rows of the
// accounts and of the index from the log.
func TestNumbersFollowTheOrderOfRegistration(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	c := testConfig(t, "git.allowedRoots="+root, "log.partitions=4")
	s := openOnly(t, c)
	stop := run(t, s)
	want := map[string]code.RepositoryNumber{}
	for i, name := range []string{"zebra", "ant", "mole", "bee", "yak", "cat", "dog", "emu"} {
		want[name] = code.RepositoryNumber(i + 1)
		if got := registerNamed(t, s, root, name); got != want[name] {
			t.Errorf("%s has the number %d, want %d", name, got, want[name])
		}
	}
	wantListed := func(when string) {
		t.Helper()
		waitUntil(t, func() bool { return len(numbersByName(t, s)) == len(want) })
		for name, number := range numbersByName(t, s) {
			if number != want[name] {
				t.Errorf("%s: %s has the number %d, want %d", when, name, number, want[name])
			}
		}
	}
	wantListed("registered")
	var removed registration
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodDelete, s.URL()+"/api/repos/3", nil)
	if response, err := http.DefaultClient.Do(request); err != nil || response.StatusCode != http.StatusAccepted || response.Body.Close() != nil {
		t.Fatalf("remove mole: %v %+v", err, removed)
	}
	waitUntil(t, func() bool { return numbersByName(t, s)["mole"] == 0 })
	want["gnu"] = 9
	if got := registerNamed(t, s, root, "gnu"); got != 9 {
		t.Errorf("the repository behind a removed one has the number %d, want 9", got)
	}
	if got := registerNamed(t, s, root, "mole"); got != 3 {
		t.Errorf("a repository that came back has the number %d, want 3", got)
	}
	wantListed("after one came back")
	stop()
	for _, lost := range []string{"", c.AccountsDir(), c.ProjectionsDir()} {
		if lost != "" {
			if err := os.RemoveAll(lost); err != nil {
				t.Fatal(err)
			}
		}
		s = openOnly(t, c)
		stop = run(t, s)
		waitUntil(t, func() bool { return s.checkReady(t.Context()) == nil })
		wantListed("without " + lost)
		stop()
	}
}

// registeredAt returns the record of a registration as a webhook appends it.
func registeredAt(t *testing.T, name, connection string, at time.Time) event.Record {
	t.Helper()
	ev := &event.RepositoryRegistered{At: at, Repository: code.Repository{
		ID: code.NewRepositoryID("test", name), Kind: code.GitHub, Name: name, CloneURL: "https://host.example/" + name, Connection: connection,
	}}
	rec, err := event.Encode(event.Envelope{ID: name, Source: "/test", Time: at}, ev)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// TestDataDirectoryFromBeforeNumbers opens a data directory whose log contains no numbers
// and whose accounts were written by a program that did not know them.
func TestDataDirectoryFromBeforeNumbers(t *testing.T) {
	t.Parallel()
	c := testConfig(t, "log.partitions=4", "pipeline.reconcileInterval=0")
	c.Pipeline.MaxAttempts = 1
	s := openOnly(t, c)
	run(t, s)()
	dropNumbers(t, c.AccountsDir())
	log, err := logdriver.Open(t.Context(), logdriver.Options{Config: c, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	// The order of registration differs from the order of the log, of the names and of
	// the IDs.
	names := make([]string, 2500) // more than fit into one event
	random := rand.New(rand.NewPCG(18, 2))
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var records []event.Record
	for i := range names {
		names[i] = fmt.Sprintf("team-%d/%d", random.IntN(10), i)
		records = append(records, registeredAt(t, names[i], fmt.Sprintf("hub-%d", i%3), begin.Add(time.Duration(i)*time.Minute)))
	}
	random.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	for part := range slices.Chunk(records, 500) {
		if _, err := log.Append(t.Context(), event.TopicEvents, eventlog.AnyPartition, part...); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}

	c.Roles = []string{config.RoleIngest, config.RoleQuery} // nothing may fetch from host.example
	c.Log.Driver = "embedded"
	s = openOnly(t, c)
	if err := s.checkReady(t.Context()); err == nil {
		t.Error("the server is ready before the repositories have numbers")
	}
	run(t, s)
	waitUntil(t, func() bool { return s.checkReady(t.Context()) == nil })
	numbers := numbersByName(t, s)
	for i, name := range names {
		if got := numbers[name]; got != code.RepositoryNumber(i+1) {
			t.Fatalf("%s has the number %d, want %d", name, got, i+1)
		}
	}
	for i := range 3 {
		if got := s.accounts.Numbers.OfConnection(fmt.Sprintf("hub-%d", i)); got != code.ConnectionNumber(i+1) {
			t.Errorf("hub-%d has the number %d, want %d", i, got, i+1)
		}
	}
	// The old IDs still identify the same repositories.
	for _, i := range []int{0, 999, 1000, 2499} {
		old := code.NewRepositoryID("test", names[i])
		_, byNumber := getURL(t, fmt.Sprintf("%s/api/repos/%d/status", s.URL(), i+1))
		status, byID := getURL(t, fmt.Sprintf("%s/api/repos/%d/status", s.URL(), old))
		if status != http.StatusOK || byID != byNumber || !strings.Contains(byID, fmt.Sprintf(`"repoId":%d,`, i+1)) {
			t.Errorf("%s by its ID: %d %s\nby its number: %s", names[i], status, byID, byNumber)
		}
	}
	_, byNumber := getURL(t, s.URL()+"/api/repos?connectionId=2&perPage=5")
	if _, byID := getURL(t, fmt.Sprintf("%s/api/repos?connectionId=%d&perPage=5", s.URL(), code.NewRepositoryID("connection", "hub-1"))); byID != byNumber || !strings.Contains(byID, "repoId") {
		t.Errorf("a connection by its ID: %s\nby its number: %s", byID, byNumber)
	}
}

// dropNumbers removes all numbers from the store of the accounts.
func dropNumbers(t *testing.T, dir string) {
	t.Helper()
	s, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if version, err := s.Schema("numbers"); err != nil || version == 0 {
		t.Fatalf("the store has version %d of the numbers: %v", version, err)
	}
	b := s.NewBatch()
	if err := errors.Join(b.Delete(append([]byte{byte(store.FamilyMeta), 's'}, "numbers"...)), b.Commit(), s.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestRegistrationBeyondTheLastNumber checks that a registration that cannot get a number
// is refused, and that a repository that a webhook registers beyond the last number is
// not shown.
func TestRegistrationBeyondTheLastNumber(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := openOnly(t, testConfig(t, "git.allowedRoots="+root))
	s.accounts.Numbers.Limit = 2
	run(t, s)
	registerNamed(t, s, root, "a")
	registerNamed(t, s, root, "b")
	dir := newEmptyRepository(t, root, "c")
	var refused registration
	if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q}`, dir), &refused); status != http.StatusConflict || !strings.Contains(refused.Message, "all 16777215 numbers of repositories are in use") {
		t.Errorf("beyond the last number: %d %s", status, refused.Message)
	}
	if got := registerNamed(t, s, root, "a"); got != 1 {
		t.Errorf("a repository that has a number is registered again as %d", got)
	}
	if _, err := s.log.Append(t.Context(), event.TopicEvents, eventlog.AnyPartition, registeredAt(t, "hooked", "", time.Now())); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool { return s.versions.Live().Catalog.Snapshot().Len() == 3 })
	if got := numbersByName(t, s); len(got) != 2 {
		t.Errorf("repositories %v are shown", got)
	}
	if err := s.checkReady(t.Context()); err != nil {
		t.Errorf("a repository without a number keeps the server from being ready: %v", err)
	}
	old := code.NewRepositoryID("test", "hooked")
	if status, body := getURL(t, fmt.Sprintf("%s/api/repos/%d/status", s.URL(), old)); status != http.StatusNotFound {
		t.Errorf("a repository without a number, by its ID: %d %s", status, body)
	}
}

// TestNothingIsShownWithoutItsNumber lists and searches before and after a repository
// gets its number.
func TestNothingIsShownWithoutItsNumber(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "kettle")
	head := g.commitFiles("a.go", "package kettle\n")
	s := runServer(t, testConfig(t, "git.allowedRoots="+filepath.Dir(g.dir)))
	s.registerAt(t, g, head)
	shown := false
	numbered := func(code.RepositoryID) bool { return shown }
	list, searches := registry.NewCatalog(s.versions, numbered), views.New(s.versions.Acquire, numbered)
	for range 2 {
		all, err := list.Repositories(t.Context())
		v, err2 := searches.View(t.Context())
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		visible := 0
		for _, r := range v.Repositories() {
			if r != nil {
				visible++
			}
		}
		segments := len(v.Segments())
		v.Release()
		if shown != (len(all) == 1) || shown != (visible == 1) || shown != (segments == 1) {
			t.Errorf("with a number: %v; %d repositories are listed, %d are in the view, with %d segments", shown, len(all), visible, segments)
		}
		shown = true
	}
}

// TestNotReadyBeforeNumbers sends requests to a server whose accounts are read but whose
// repositories have no numbers yet.
func TestNotReadyBeforeNumbers(t *testing.T) {
	t.Parallel()
	s := openOnly(t, testConfig(t))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.accounts.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	waitUntil(t, func() bool { return s.accounts.CheckReady() == nil })
	rec := httptest.NewRecorder()
	s.api.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/api/repos", nil))
	if rec.Code != http.StatusServiceUnavailable || !strings.Contains(rec.Body.String(), "NOT_READY") || !strings.Contains(rec.Body.String(), numbering.ErrPending.Error()) {
		t.Errorf("GET /api/repos: %d %s", rec.Code, rec.Body)
	}
}
