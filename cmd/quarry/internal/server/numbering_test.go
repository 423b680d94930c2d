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
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// registerNamed registers an empty directory under a name by the API and returns the
// number that the answer has.
func registerNamed(t *testing.T, s *Server, root, name string) code.RepositoryNumber {
	t.Helper()
	dir := filepath.Join(root, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	var r registration
	if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"name":%q}`, dir, name), &r); status != http.StatusAccepted {
		t.Fatalf("register %s: %d %s", name, status, r.Message)
	}
	return code.RepositoryNumber(r.RepoID)
}

// numbersByName returns the numbers of the repository list by name.
func numbersByName(t *testing.T, s *Server) map[string]code.RepositoryNumber {
	t.Helper()
	all, err := s.repositories.Repositories(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]code.RepositoryNumber{}
	for _, r := range all {
		out[r.Name] = s.accounts.numbers.OfRepository(r.ID)
	}
	return out
}

// TestNumbersFollowTheOrderOfRegistration registers repositories whose events lie in
// four partitions, restarts, removes one and registers it again, and has the rows of the
// accounts and of the index made from the log.
func TestNumbersFollowTheOrderOfRegistration(t *testing.T) {
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

// registeredAt is a registration as a webhook appends it.
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

// TestDataDirectoryFromBeforeNumbers opens a data directory whose log has no numbers and
// whose accounts were written by a program that knew none.
func TestDataDirectoryFromBeforeNumbers(t *testing.T) {
	c := testConfig(t, "log.partitions=4", "pipeline.reconcileInterval=0")
	c.Pipeline.MaxAttempts = 1
	s := openOnly(t, c)
	run(t, s)()
	takeNumbersOut(t, c.AccountsDir())
	log, err := openEmbedded(Options{Config: c, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	// The order of registration is not that of the log, of the names or of the IDs.
	names := make([]string, 2500) // more than an event takes
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

	c.Roles = []string{roleIngest, roleQuery} // nothing fetches from host.example
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
		if got := s.accounts.numbers.OfConnection(fmt.Sprintf("hub-%d", i)); got != code.ConnectionNumber(i+1) {
			t.Errorf("hub-%d has the number %d, want %d", i, got, i+1)
		}
	}
	// The old IDs name the same things.
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

// takeNumbersOut removes all numbers from the store of the accounts.
func takeNumbersOut(t *testing.T, dir string) {
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

// queryProcess is what a process of the role query has of the numbers.
type queryProcess struct {
	accounts  *accountRows
	versions  *versions
	numbering *numberAssigner
}

func newQueryProcess(t *testing.T, log eventlog.Log) *queryProcess {
	t.Helper()
	c := testConfig(t)
	o := Options{Config: c, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()}
	accounts, err := openAccountRows(o, log, newDamageMetrics(o.Registerer))
	if err != nil {
		t.Fatal(err)
	}
	home, err1 := projections.OpenHome(c.ProjectionsDir())
	objects, err2 := segmentstore.OpenDirectory(c.SegmentsDir())
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	frames := segment.NewCache(1 << 20)
	v := newVersions(o, home, log, objects, frames)
	if err := v.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(v.Close(), frames.Close(), accounts.Close()); err != nil {
			t.Error(err)
		}
	})
	return &queryProcess{accounts, v, newNumberAssigner(accounts, v, o.Logger)}
}

func (p *queryProcess) startRunners(ctx context.Context, g *errgroup.Group) {
	g.Go(func() error { return p.accounts.Run(ctx) })
	g.Go(func() error { return p.versions.Run(ctx) })
	g.Go(func() error { return p.numbering.Run(ctx) })
}

// TestTwoProcessesNumberAtOnce has two query processes follow one log while
// webhooks register repositories in four partitions, and while both processes get
// requests to register the same repositories.
func TestTwoProcessesNumberAtOnce(t *testing.T) {
	log, err := openEmbedded(Options{Config: testConfig(t, "log.partitions=4"), Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	processes := []*queryProcess{newQueryProcess(t, log), newQueryProcess(t, log)}
	ctx, cancel := context.WithCancel(t.Context())
	running, work := new(errgroup.Group), new(errgroup.Group)
	t.Cleanup(func() {
		cancel()
		if err := running.Wait(); err != nil {
			t.Error(err)
		}
	})
	for _, p := range processes {
		p.startRunners(ctx, running)
		<-p.numbering.started
	}
	const hooked, asked = 60, 40
	work.Go(func() error {
		for i := range hooked {
			rec := registeredAt(t, fmt.Sprintf("hooked/%d", i), "hub", time.Now())
			if _, err := log.Append(ctx, event.TopicEvents, eventlog.AnyPartition, rec); err != nil {
				return err
			}
		}
		return nil
	})
	given := make([][]code.RepositoryNumber, len(processes))
	for n, p := range processes {
		work.Go(func() error {
			for i := range asked {
				name := fmt.Sprintf("asked/%d", i)
				number, err := p.numbering.numberRepository(ctx, code.Repository{ID: code.NewRepositoryID("test", name), Name: name})
				if err != nil {
					return err
				}
				given[n] = append(given[n], number)
			}
			return nil
		})
	}
	if err := work.Wait(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(given[0], given[1]) {
		t.Errorf("two processes answered the numbers %v and %v", given[0], given[1])
	}
	last := code.RepositoryNumber(hooked + asked)
	for _, p := range processes {
		waitUntil(t, func() bool { return p.accounts.numbers.Repository(last) != 0 })
	}
	seen := map[code.RepositoryID]bool{}
	for number := code.RepositoryNumber(1); number <= last; number++ {
		a, b := processes[0].accounts.numbers.Repository(number), processes[1].accounts.numbers.Repository(number)
		if a != b || a == 0 || seen[a] {
			t.Fatalf("number %d belongs to %d and to %d; seen before: %v", number, a, b, seen[a])
		}
		seen[a] = true
	}
	if got := processes[0].accounts.numbers.Repository(last + 1); got != 0 {
		t.Errorf("number %d belongs to %d, and there are %d repositories", last+1, got, last)
	}
}

// TestRegistrationBeyondTheLastNumber refuses a registration that cannot get a
// number, and does not show a repository that a webhook has registered beyond it.
func TestRegistrationBeyondTheLastNumber(t *testing.T) {
	root := t.TempDir()
	s := openOnly(t, testConfig(t, "git.allowedRoots="+root))
	s.accounts.numbers.Limit = 2
	run(t, s)
	registerNamed(t, s, root, "a")
	registerNamed(t, s, root, "b")
	dir := filepath.Join(root, "c")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
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
	waitUntil(t, func() bool { return s.versions.live.Load().catalog.Snapshot().Len() == 3 })
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

// TestNothingIsShownWithoutItsNumber lists and searches before a repository has its
// number, and after.
func TestNothingIsShownWithoutItsNumber(t *testing.T) {
	g := newGitRepository(t, "kettle")
	head := g.commitFiles("a.go", "package kettle\n")
	s := runServer(t, testConfig(t, "git.allowedRoots="+filepath.Dir(g.dir)))
	s.registerAt(t, g, head)
	shown := false
	numbered := func(code.RepositoryID) bool { return shown }
	list, searches := &repositories{versions: s.versions, hasNumber: numbered}, newViews(s.versions, numbered)
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

// TestNotReadyBeforeNumbers sends requests to a server whose accounts are read and
// whose repositories have no numbers yet.
func TestNotReadyBeforeNumbers(t *testing.T) {
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
	waitUntil(t, func() bool { return s.accounts.checkReady() == nil })
	rec := httptest.NewRecorder()
	s.api.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/api/repos", nil))
	if rec.Code != http.StatusServiceUnavailable || !strings.Contains(rec.Body.String(), "NOT_READY") || !strings.Contains(rec.Body.String(), errNumbering.Error()) {
		t.Errorf("GET /api/repos: %d %s", rec.Code, rec.Body)
	}
}

// TestReadyAfterTheLookAtAllRepositories: a scan of a catalog that was behind the
// log does not cover the repositories that came since.
func TestReadyAfterTheLookAtAllRepositories(t *testing.T) {
	n := openOnly(t, testConfig(t)).numbering
	n.complete.Store(true)
	if err := n.checkReady(); err != nil {
		t.Errorf("every repository of a catalog that catches up has a number: %v", err)
	}
	n.versions.ready.Store(true)
	if err := n.checkReady(); !errors.Is(err, errNumbering) {
		t.Errorf("the catalog has caught up, and nothing has looked at it since: %v", err)
	}
	n.markStarted()
	if err := n.checkReady(); err != nil {
		t.Errorf("all repositories have numbers: %v", err)
	}
}
