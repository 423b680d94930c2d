package server

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/codehosts"
	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/webhook"
	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hosttest"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/projections/store/storetest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/seedtest"
)

// Sizes of the model.
const (
	modelRepos = 3
	modelSteps = 60
)

// modelTargets select the repositories of the owner acme.
var modelTargets = map[code.HostKind]discovery.Targets{
	code.GitHub: {Orgs: []string{"acme"}}, code.GitLab: {Groups: []string{"acme"}}, code.Gitea: {Orgs: []string{"acme"}}, code.Gerrit: {All: true},
	code.BitbucketServer: {Projects: []string{"ACME"}}, code.BitbucketCloud: {Workspaces: []string{"acme"}}, code.AzureDevOps: {Orgs: []string{"acme"}},
}

// hintModel is one code host whose webhooks arrive in any order, repeatedly, late or not
// at all, at a receiver with a catalog, a HintReader and a Syncer.
//
// The model holds for each repository when the host last answered that it is public, and
// when a delivery last said that it is private. The catalog may show the repository as
// public only if the answer is younger.
type hintModel struct {
	t        *testing.T
	kind     code.HostKind
	seed     string
	random   *rand.Rand
	host     *hosttest.Host
	base     string
	receiver *webhook.Receiver
	hints    *discovery.HintReader
	syncer   *discovery.Syncer
	// announced are the deliveries that the host has made, some of them sent.
	announced []modelDelivery
	sent      int

	mu struct {
		sync.Mutex
		catalog *catalog.Catalog
		applier *projectiontest.Applier
		next    event.Offset
		clock   time.Time
		// moment numbers what happens. public and private are the moments of the last
		// answer and the last delivery, by repository.
		moment          int
		public, private map[code.RepositoryID]int
		// overtake is a repository that the host makes private after its next answer.
		overtake int
		// violation describes the first violation of the invariant.
		violation string
		steps     []string
	}
}

type modelDelivery struct {
	name, event string
	payload     map[string]any
}

// modelRepo returns a repository of the host, which has the ID n.
func modelRepo(n int) hosttest.Repo {
	return hosttest.Repo{ID: n, Owner: "acme", Name: fmt.Sprint("repo-", n), Private: n%2 == 0, Branch: "main"}
}

// note records a step for the output of a failure.
func (m *hintModel) note(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.steps = append(m.mu.steps, fmt.Sprintf(format, args...))
}

func (m *hintModel) fail(format string, args ...any) {
	m.t.Helper()
	m.t.Fatalf("%s: %s\nrepeat with QUARRY_SEED=%s\nsteps:\n%s", m.kind, fmt.Sprintf(format, args...), m.seed, strings.Join(m.mu.steps, "\n"))
}

// id returns the ID of a repository in Quarry.
func (m *hintModel) id(r hosttest.Repo) code.RepositoryID {
	host := strings.TrimPrefix(m.base, "http://")
	return code.NewRepositoryID(host, hosttest.Identity(m.kind, r))
}

// Append implements the log: it applies the records to the catalog at once, and checks
// the invariant.
func (m *hintModel) Append(ctx context.Context, topic event.Topic, _ int32, records ...event.Record) ([]event.Position, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var positions []event.Position
	for _, rec := range records {
		_, ev, err := event.Decode(rec)
		if err != nil {
			return nil, err
		}
		rec.Position = event.Position{Topic: topic, Offset: m.mu.next}
		positions = append(positions, rec.Position)
		m.mu.next++
		m.mu.moment++
		if p, ok := ev.(*event.Push); ok && p.Private && p.Connection == "hub" {
			m.mu.private[p.Repository] = m.mu.moment
		}
		if err := m.mu.applier.Apply(ctx, rec); err != nil {
			return nil, err
		}
		known, ok := m.mu.catalog.Snapshot().ByID(ev.Key())
		m.mu.steps = append(m.mu.steps, fmt.Sprintf("  event %s of %d: registered %v, private %v", ev.EventType(), ev.Key(), ok, ok && known.Private))
		if ok && !known.Private && m.mu.public[known.ID] <= m.mu.private[known.ID] && m.mu.violation == "" {
			m.mu.violation = fmt.Sprintf("%s is public after %s, but the host said so at moment %d and a delivery said private at %d",
				known.Name, ev.EventType(), m.mu.public[known.ID], m.mu.private[known.ID])
		}
	}
	return positions, nil
}

type modelAssignment struct{ eventlog.Reader }

func (modelAssignment) Partition() int32                           { return 0 }
func (modelAssignment) Commit(context.Context, event.Offset) error { return nil }

// Join implements eventlog.Joiner.
func (m *hintModel) Join(ctx context.Context, _ string, _ event.Topic, handle func(context.Context, eventlog.Assignment) error) error {
	return handle(ctx, modelAssignment{})
}

// modelSnapshot adapts a snapshot to discovery.
type modelSnapshot struct{ *catalog.Snapshot }

func (s modelSnapshot) ByID(id code.RepositoryID) (code.Repository, bool) {
	known, ok := s.Snapshot.ByID(id)
	if !ok {
		return code.Repository{}, false
	}
	return known.Repository, true
}

func (s modelSnapshot) ByCloneURL(url string) (code.Repository, bool) {
	for r := range s.All() {
		if r.CloneURL == url {
			return r, true
		}
	}
	return code.Repository{}, false
}

func (s modelSnapshot) All() iter.Seq[code.Repository] {
	return func(yield func(code.Repository) bool) {
		for _, known := range s.ByName() {
			if !yield(known.Repository) {
				return
			}
		}
	}
}

// Current implements discovery.Catalog.
func (m *hintModel) Current(context.Context) (discovery.Snapshot, error) {
	return modelSnapshot{m.mu.catalog.Snapshot()}, nil
}

// Find implements webhook.Repositories.
func (m *hintModel) Find(_ context.Context, candidate code.Repository) (code.Repository, error) {
	s := modelSnapshot{m.mu.catalog.Snapshot()}
	if known, ok := s.ByID(candidate.ID); ok {
		return known, nil
	}
	if known, ok := s.ByCloneURL(candidate.CloneURL); ok {
		return known, nil
	}
	return code.Repository{}, code.ErrNotFound
}

// now returns a clock that advances with each call, so that the bounds of readings do not
// delay the model.
func (m *hintModel) now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.clock = m.mu.clock.Add(time.Minute)
	return m.mu.clock
}

// hookAnswer records what the host answered, and lets a delivery overtake the answer.
func (m *hintModel) hookAnswer(found []hosttest.Repo) {
	m.mu.Lock()
	m.mu.moment++
	overtake := 0
	for _, r := range found {
		if !r.Private {
			m.mu.public[m.id(r)] = m.mu.moment
		}
		if r.ID == m.mu.overtake {
			overtake, m.mu.overtake = r.ID, 0
		}
	}
	m.mu.Unlock()
	if overtake == 0 {
		return
	}
	r, ok := m.host.Find(overtake)
	if !ok {
		return
	}
	r.Private = true
	m.host.Put(r)
	m.note("the host makes %d private while it is read, and its push arrives first", overtake)
	m.deliver(m.pushOf(r))
}

func newHintModel(t *testing.T, kind code.HostKind, seed uint64) *hintModel {
	m := &hintModel{t: t, kind: kind, seed: strconv.FormatUint(seed, 10), random: rand.New(rand.NewPCG(seed, uint64(len(kind)))), host: &hosttest.Host{Token: "s3cret"}}
	m.host.OnAnswer = m.hookAnswer
	server := hosttest.NewServer(t, false, m.host.Handler)
	m.base = server.URL
	s, err := store.Open("store", store.Options{FileSystem: storetest.NewMemory().FileSystem()})
	if err != nil {
		t.Fatal(err)
	}
	decoder := projections.NewDecoder(nil)
	m.mu.catalog, err = catalog.Open(catalog.Options{Store: s, Decoder: decoder})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.mu.catalog.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	m.mu.applier = &projectiontest.Applier{Store: s, Decoder: decoder, Projections: []projections.Projection{m.mu.catalog}}
	m.mu.public, m.mu.private, m.mu.clock = map[code.RepositoryID]int{}, map[code.RepositoryID]int{}, time.Unix(1_800_000_000, 0)
	hub := discovery.Connection{Name: "hub", Kind: kind, URL: m.base, User: "ann", Token: "s3cret", Targets: modelTargets[kind]}
	renew := func(name string) (discovery.Connection, error) {
		if name != "hub" {
			return discovery.Connection{}, errors.New("no such connection")
		}
		return hub, nil
	}
	if m.hints, err = discovery.NewHintReader(discovery.HintOptions{Kinds: codehosts.Listers(), Log: m, Catalog: m, Renew: renew, Now: m.now}); err != nil {
		t.Fatal(err)
	}
	admit := func(context.Context, code.Repository) error { return nil }
	if m.syncer, err = discovery.New(discovery.Options{Kinds: codehosts.Listers(), Log: m, Catalog: m, Admit: admit, Grace: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	secret := "s3cret"
	switch kind {
	case code.AzureDevOps:
		secret = "ann:s3cret"
	case code.GenericGitHost:
		secret = genericModelSecret
	}
	connections := []ingest.Connection{{Name: "hub", Kind: kind, URL: m.base, Secrets: []string{secret}, AutoRegister: true}, {Name: "spare", Kind: kind, URL: m.base, Secrets: []string{secret}}}
	m.receiver, err = webhook.New(webhook.Options{
		Kinds: codehosts.Translators(), Connections: connections, Appender: m, Repositories: m, Now: m.now,
		Hint: func(h webhook.Hint) bool { return m.hints.Add(discovery.Hint(h)) },
		Confirm: func(ctx context.Context, h webhook.Hint) (code.Repository, error) {
			confirmed, err := m.hints.Confirm(ctx, discovery.Hint(h))
			if errors.Is(err, discovery.ErrUnconfirmed) {
				return confirmed, webhook.ErrUnconfirmed
			}
			if errors.Is(err, discovery.ErrHostLacks) {
				return confirmed, webhook.ErrHostLacks
			}
			return confirmed, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// deliver sends a delivery to the receiver, by the connection of the repositories.
func (m *hintModel) deliver(d modelDelivery) { m.deliverBy("hub", d) }

func (m *hintModel) deliverBy(connection string, d modelDelivery) {
	m.mu.Lock()
	m.sent++
	id, at := fmt.Sprint("d-", m.sent), m.mu.clock
	m.mu.Unlock()
	request, err := signModelDelivery(m.kind, connection, id, d, at)
	if err != nil {
		m.t.Error(err)
		return
	}
	w := httptest.NewRecorder()
	m.receiver.ServeHTTP(w, request)
	m.note("delivery %s by %s: %d", d.name, connection, w.Code)
	if w.Code == http.StatusUnauthorized || w.Code == http.StatusBadRequest || w.Code >= 500 {
		m.t.Errorf("%s: delivery %s: %d %s", m.kind, d.name, w.Code, w.Body)
	}
}

// change makes a random change at the host and announces it as the host does.
func (m *hintModel) change() {
	n := m.random.IntN(modelRepos) + 1
	r, exists := m.host.Find(n)
	what := m.random.IntN(6)
	switch {
	case !exists:
		r = modelRepo(n)
		m.host.Put(r)
		m.note("the host creates %d, private %v", n, r.Private)
		m.announced = append(m.announced, m.pushOf(r))
	case what == 0:
		m.host.Delete(n)
		m.note("the host deletes %d", n)
		m.announced = append(m.announced, m.eventsOf("deleted", r)...)
	case what == 1 && m.kind != code.Gerrit && m.kind != code.GenericGitHost:
		r.Name = fmt.Sprint("renamed-", n, "-", m.random.IntN(100))
		m.host.Put(r)
		m.note("the host renames %d to %s", n, r.Name)
		m.announced = append(m.announced, m.eventsOf("renamed", r)...)
	case what == 2:
		m.note("a push of %d", n)
		m.announced = append(m.announced, m.pushOf(r))
	default:
		r.Private = !r.Private
		m.host.Put(r)
		m.note("the host makes %d private: %v", n, r.Private)
		m.announced = append(m.announced, m.eventsOf("visibility", r)...)
	}
}

// run makes random steps: changes, and deliveries in any order, repeated or never.
func (m *hintModel) run() {
	for n := range modelRepos {
		m.host.Put(modelRepo(n + 1))
		m.announced = append(m.announced, m.pushOf(modelRepo(n+1)))
	}
	for range modelSteps {
		switch m.random.IntN(9) {
		case 0, 1, 2:
			m.change()
		case 3:
			m.mu.Lock()
			m.mu.overtake = m.random.IntN(modelRepos) + 1
			m.mu.Unlock()
		case 4:
			m.settle()
		case 5:
			m.note("a sync is requested")
			m.syncer.RequestSync("hub", true)
		default:
			if len(m.announced) == 0 {
				continue
			}
			connection := "hub"
			if m.random.IntN(4) == 0 {
				connection = "spare"
			}
			m.deliverBy(connection, m.announced[m.random.IntN(len(m.announced))])
		}
	}
	m.mu.Lock()
	m.mu.overtake = 0
	m.mu.Unlock()
	m.settle()
	m.checkViolation()
}

func (m *hintModel) checkViolation() {
	m.t.Helper()
	m.mu.Lock()
	violation := m.mu.violation
	m.mu.Unlock()
	if violation != "" {
		m.fail("%s", violation)
	}
}

// settle waits until the hints so far have been followed.
func (m *hintModel) settle() {
	for range 100_000 {
		if m.hints.Pending() == 0 {
			return
		}
		<-time.After(time.Millisecond) // readings are requests over a socket
	}
	m.fail("hints are not followed")
}

// difference returns how the catalog differs from the host, or an empty string.
func (m *hintModel) difference() string {
	snapshot := m.mu.catalog.Snapshot()
	for n := 1; n <= modelRepos; n++ {
		r, exists := m.host.Find(n)
		if !exists {
			r = modelRepo(n)
		}
		known, registered := snapshot.ByID(m.id(r))
		switch {
		case registered != exists:
			return fmt.Sprintf("repository %d: registered %v, at the host %v", n, registered, exists)
		case !exists:
		case known.Private != (r.Private || m.kind == code.Gerrit):
			return fmt.Sprintf("repository %d: private %v, at the host %v", n, known.Private, r.Private)
		case !strings.Contains(known.CloneURL, r.Name):
			return fmt.Sprintf("repository %d: clone URL %s, at the host %s", n, known.CloneURL, r.Name)
		}
	}
	return ""
}

// TestHintsModel checks for each kind of host that, in any order and with any repetition
// and loss of deliveries, also during syncs, a repository is never wider than the last
// reading or listing that no delivery has overtaken, and that a sync makes up for what is
// lost.
func TestHintsModel(t *testing.T) {
	seed := seedtest.ChooseSeed(t)
	for kind := range modelTargets {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			m := newHintModel(t, kind, seed)
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			defer running.Wait()
			defer cancel()
			running.Go(func() {
				if err := m.hints.Run(ctx); err != nil {
					t.Error(err)
				}
			})
			m.syncer.SetConnections([]discovery.Connection{{Name: "hub", Kind: kind, URL: m.base, User: "ann", Token: "s3cret", Targets: modelTargets[kind]}}, []string{"hub"})
			running.Go(func() {
				if err := m.syncer.Run(ctx); err != nil {
					t.Error(err)
				}
			})
			m.run()
			if t.Failed() {
				m.fail("a delivery failed")
			}
			different := ""
			for range 20_000 {
				m.checkViolation()
				if different = m.difference(); different == "" {
					return
				}
				m.syncer.RequestSync("hub", true)
				<-time.After(time.Millisecond) // listings are requests over a socket
			}
			m.fail("after a sync: %s", different)
		})
	}
	t.Run("genericGitHost", func(t *testing.T) {
		m := newHintModel(t, code.GenericGitHost, seed)
		for n := range modelRepos {
			for range 1 + m.random.IntN(2) {
				m.deliver(m.pushOf(modelRepo(n + 1)))
			}
		}
		all := m.mu.catalog.Snapshot().ByName()
		if len(all) != modelRepos {
			m.fail("%d repositories are registered, want %d", len(all), modelRepos)
		}
		for _, r := range all {
			if !r.Private {
				m.fail("%s is public, although nobody can confirm it", r.Name)
			}
		}
	})
}
