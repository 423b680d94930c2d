package api_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/assist"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/erasure"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/indexing"
	"github.com/quarrysearch/quarry/schemas/ledger"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
	"github.com/quarrysearch/quarry/schemas/replay"
)

var day = time.Date(2026, 3, 4, 5, 6, 7, 8_900_000, time.FixedZone("", 7200))

// Internal IDs. The API shows numbers in their place: 42, 43 and, for a repository that
// is no longer registered, 44.
const (
	kettleID code.RepositoryID = 3141592653589793
	bareID   code.RepositoryID = 2718281828459045
	goneID   code.RepositoryID = 1618033988749895
)

// fakeNumbers numbers the repositories of the world, and any connection.
type fakeNumbers struct{}

func (fakeNumbers) OfRepository(id code.RepositoryID) code.RepositoryNumber {
	for _, number := range []code.RepositoryNumber{42, 43, 44} {
		if (fakeNumbers{}).Repository(number) == id {
			return number
		}
	}
	if id <= code.MaxNumber { // of a test with other numbers
		return code.RepositoryNumber(id)
	}
	return 0
}

func (fakeNumbers) Repository(number code.RepositoryNumber) code.RepositoryID {
	switch number {
	case 42:
		return kettleID
	case 43:
		return bareID
	case 44:
		return goneID
	}
	return 0
}

// OfConnection returns 3 for hub, and a number derived from the last letter for other
// names.
func (fakeNumbers) OfConnection(name string) code.ConnectionNumber {
	if name == "hub" {
		return 3
	}
	return 10 + code.ConnectionNumber(name[len(name)-1])
}

var kettle = &corpus.Repository{
	Repository: code.Repository{
		ID: kettleID, Kind: code.GitHub, Name: "github.com/meadow/kettle", DisplayName: "meadow/kettle", CloneURL: "https://github.com/meadow/kettle.git",
		WebURL: "https://github.com/meadow/kettle", ImageURL: "https://avatars.example/u/9", Description: "Boils water.", DefaultBranch: "trunk", Connection: "hub",
	},
	IndexedCommit: "2222222222222222222222222222222222222222", IndexedAt: day, PushedAt: day.Add(-time.Hour),
}

var bare = &corpus.Repository{Repository: code.Repository{ID: bareID, Kind: code.GenericGitHost, Name: "srv/git/Bare", CloneURL: "/srv/git/Bare", Fork: true, Archived: true}}

// world provides everything a Server needs, in memory. Searches run on a small corpus.
type world struct {
	searcher *assist.Searcher
	engine   *search.Searcher
	change   func(*search.Result) // the test's change of a result, if not nil
	late     bool                 // a stream fails after its first part
	err      error
	panics   bool
	block    bool
	request  search.Request
	viewErr  error
	released atomic.Int32
	acquired atomic.Int32

	repositories []*corpus.Repository
	registered   []string
	registrarErr error
	status       map[code.RepositoryID]indexing.Status
	skipped      []indexing.SkippedFile
	readyErr     error
	asOf         string
	missing      replay.Missing
	coverage     api.Coverage
	lacking      int // documents that views lack

	gate  fakeGate
	audit fakeAudit
}

func newWorld() *world {
	at := event.Position{Topic: event.TopicEvents, Partition: 1, Offset: 7}
	engine := search.New(search.Options{MaxDuration: 10 * time.Hour})
	return &world{
		searcher:     assist.New(engine, nil),
		engine:       engine,
		repositories: []*corpus.Repository{kettle, bare},
		status: map[code.RepositoryID]indexing.Status{
			kettleID: {Repository: kettle.Repository, Commit: kettle.IndexedCommit, IndexedAt: kettle.IndexedAt, PushedAt: kettle.PushedAt, State: indexing.Indexed, Refs: []indexing.Ref{{Ref: "refs/heads/trunk", Commit: kettle.IndexedCommit, IndexedAt: day}}, Segments: 2, Files: 10, SkippedFiles: 3, Applied: &at,
				Freshness: indexing.Freshness{Ref: "refs/heads/trunk", Commit: kettle.IndexedCommit, ReceivedAt: day.Add(-1500 * time.Millisecond), IndexedAt: day, Waiting: 2, OldestAt: day.AddDate(100, 0, 0) /* whose age is 0 for a while */}},
			bareID: {Repository: bare.Repository, Commit: bare.IndexedCommit, IndexedAt: bare.IndexedAt, PushedAt: bare.PushedAt, State: indexing.Importing, Progress: &indexing.Progress{Files: 5, FilesTotal: 10, Bytes: 100, BytesTotal: 1000}, LastError: &indexing.Failure{Code: failure.Unreachable, Detail: "fetch /srv/git: no route to host", At: day},
				Reconciliation: &indexing.Reconciliation{LookedAt: day, Result: "failed", Failed: &indexing.Failure{Code: failure.Unreachable, Detail: "list /srv/git: no route to host"}, NextAt: day.Add(time.Hour)}},
		},
		skipped: []indexing.SkippedFile{
			{Path: "a.png", Ref: "refs/heads/trunk", Reason: code.SkipBinary, SizeBytes: 10},
			{Path: "big.json", Ref: "refs/heads/trunk", Reason: code.SkipTooLarge, SizeBytes: 10 << 20},
			{Path: "deep.js", Ref: "refs/heads/trunk", PartialSymbols: code.PartialLimit, SizeBytes: 4000},
			{Path: "z", Ref: "refs/heads/trunk", Reason: code.SkipSymlink},
		},
	}
}

// view counts its releases.
type view struct {
	corpus.View
	world *world
}

func (v view) Release() { v.world.released.Add(1) }

func (v view) MissingDocuments() int { return v.world.lacking }

func (w *world) View(context.Context) (corpus.View, error) {
	if w.viewErr != nil {
		return nil, w.viewErr
	}
	w.acquired.Add(1)
	return view{View: indexedCorpus(), world: w}, nil
}

func (w *world) Repositories(context.Context) ([]*corpus.Repository, error) {
	if w.err != nil {
		return nil, w.err
	}
	return append([]*corpus.Repository(nil), w.repositories...), nil
}

func (w *world) Find(_ context.Context, candidate code.Repository) (code.Repository, error) {
	for _, r := range w.repositories {
		same := false
		if a, err := code.ParseCloneURL(candidate.CloneURL); err == nil {
			b, _ := code.ParseCloneURL(r.CloneURL)
			same = a.Same(b)
		}
		if r.ID == candidate.ID || same || candidate.CloneURL == "" && r.Name == candidate.Name {
			return r.Repository, nil
		}
	}
	return code.Repository{}, fmt.Errorf("find %s: %w", candidate.Name, code.ErrNotFound)
}

func (w *world) append(format string, args ...any) (event.Position, error) {
	if w.registrarErr != nil {
		return event.Position{}, w.registrarErr
	}
	w.registered = append(w.registered, fmt.Sprintf(format, args...))
	return event.Position{Topic: event.TopicEvents, Partition: 3, Offset: event.Offset(len(w.registered))}, nil
}

func (w *world) Register(_ context.Context, r code.Repository) (code.RepositoryNumber, event.Position, error) {
	if strings.HasPrefix(r.CloneURL, "/etc") {
		return 0, event.Position{}, fmt.Errorf("%w: /etc is below none of the allowed roots", failure.ErrRefused)
	}
	at, err := w.append("register %+v", r)
	if number := (fakeNumbers{}).OfRepository(r.ID); number != 0 {
		return number, at, err
	}
	return 45, at, err
}

func (w *world) Rename(_ context.Context, from, to code.Repository) (event.Position, error) {
	if strings.HasPrefix(to.CloneURL, "/etc") {
		return event.Position{}, fmt.Errorf("%w: /etc is below none of the allowed roots", failure.ErrRefused)
	}
	return w.append("rename %s to %+v", from.Name, to)
}

func (w *world) Remove(_ context.Context, id code.RepositoryID, reason string) (event.Position, error) {
	return w.append("remove %d %s", id, reason)
}

func (w *world) Refresh(_ context.Context, id code.RepositoryID) (event.Position, error) {
	return w.append("refresh %d", id)
}

func (w *world) Reindex(_ context.Context, id code.RepositoryID, refs []code.Ref) (event.Position, error) {
	return w.append("reindex %d %s", id, refs)
}

func (w *world) Status(_ context.Context, id code.RepositoryID) (indexing.Status, error) {
	st, ok := w.status[id]
	if !ok {
		return st, fmt.Errorf("status: %w", code.ErrNotFound)
	}
	return st, nil
}

func (w *world) Skipped(_ context.Context, id code.RepositoryID, ref code.Ref, reason string, offset, limit int) ([]indexing.SkippedFile, int, error) {
	if id != kettleID || ref != "" && ref != "refs/heads/trunk" {
		return nil, 0, fmt.Errorf("skipped files of %q: %w", ref, code.ErrNotFound)
	}
	var all []indexing.SkippedFile
	for _, f := range w.skipped {
		if reason == "" || string(f.Reason) == reason || string(f.PartialSymbols) == reason {
			all = append(all, f)
		}
	}
	from := min(offset, len(all))
	return all[from:min(from+limit, len(all))], len(all), nil
}

// fakeDeliveries are the deliveries of the world, newest first.
func fakeDeliveries() []*ledger.Delivery {
	at := func(offset event.Offset) event.Position {
		return event.Position{Topic: event.TopicEvents, Partition: 2, Offset: offset}
	}
	answered, cause, three := at(9), at(8), 3
	return []*ledger.Delivery{
		{Position: at(12), Source: "/webhooks/github/hub", Connection: "hub", DeliveryID: "d-3", Outcome: "refused", Reason: "signature is wrong", Suppressed: 4, ReceivedAt: day, LoggedAt: day},
		{Position: at(11), Source: "/webhooks/github/hub", Connection: "hub", DeliveryID: "d-1", Outcome: "duplicate", Of: &cause, Repository: kettleID, RepositoryName: "github.com/meadow/kettle", ReceivedAt: day, LoggedAt: day},
		{Position: at(10), Source: "/query/api", Repository: goneID, ReceivedAt: day, LoggedAt: day, Pushes: []ledger.Push{
			{Position: at(10), Action: event.ActionRefresh, Outcome: "failed", Code: failure.Unreachable, Reason: "no route to host", DeadLetter: &event.Position{Topic: event.TopicDeadLetters, Partition: 2, Offset: 1}},
		}},
		{
			Position: at(7), Source: "/webhooks/github/hub", Connection: "hub", DeliveryID: "d-1", BodySHA256: strings.Repeat("0f", 32),
			Repository: kettleID, RepositoryName: "github.com/meadow/kettle", ReceivedAt: day, LoggedAt: day, Duplicates: 1, LastDuplicateAt: day,
			Pushes: []ledger.Push{
				{Position: at(7), Ref: "refs/heads/topic", Action: event.ActionUpdated, Outcome: "coalesced", Commit: kettle.IndexedCommit, Cause: &cause, Answered: &answered, DoneAt: day, SearchableAt: day},
				{Position: at(8), Ref: "refs/heads/topic", Before: kettle.IndexedCommit, After: kettle.IndexedCommit, Action: event.ActionUpdated, Outcome: "indexed", Commit: kettle.IndexedCommit,
					Changes: &three, Documents: 2, Segments: 1, Answered: &answered, DoneAt: day, SearchableAt: day, Here: true},
			},
		},
	}
}

func (w *world) List(_ context.Context, q ledger.Query) (ledger.Page, error) {
	if q.Cursor == "bad" {
		return ledger.Page{}, fmt.Errorf("%w: bad", failure.ErrCursor)
	}
	w.registered = append(w.registered, fmt.Sprintf("list %+v", q))
	page := ledger.Page{}
	for _, d := range fakeDeliveries() {
		if q.Repository == 0 || q.Repository == d.Repository {
			page.Deliveries = append(page.Deliveries, d)
		}
	}
	if len(page.Deliveries) > q.Limit {
		page.Deliveries, page.Next = page.Deliveries[:q.Limit], "AgM"
	}
	return page, nil
}

func (w *world) Delivery(_ context.Context, at event.Position) (*ledger.Delivery, error) {
	for _, d := range fakeDeliveries() {
		if d.Position == at {
			return d, nil
		}
	}
	return nil, fmt.Errorf("delivery at %s: %w", at, code.ErrNotFound)
}

func (w *world) Redeliver(ctx context.Context, at event.Position) (string, []event.Position, error) {
	d, err := w.Delivery(ctx, at)
	if err != nil {
		return "", nil, err
	}
	if len(d.Pushes) == 0 {
		return "", nil, fmt.Errorf("%w: the delivery led to no push", failure.ErrConflict)
	}
	position, err := w.append("redeliver %s", at)
	return "redelivery-of-2-7-X", []event.Position{position}, err
}

// fakeSnapshots has two snapshots, one of which is damaged.
type fakeSnapshots struct{ *world }

func (f fakeSnapshots) Create(context.Context) error {
	if f.asOf != "" {
		return fmt.Errorf("%w: the index shows a moment of the past", failure.ErrConflict)
	}
	return nil
}

func (f fakeSnapshots) List(context.Context) (wire.Snapshots, error) {
	return wire.Snapshots{
		Snapshots: []wire.Snapshot{
			{Name: "v1-20260304t040607z-00000002", CreatedAt: wire.At(day.Add(time.Hour)), Problem: "the snapshot is damaged", Positions: []wire.Position{}},
			{
				Name: "v1-20260304t030607z-00000001", CreatedAt: wire.At(day), Creator: "quarry-0 (v1.2.0)", Rows: 12, SizeBytes: 3456, Segments: 2, Seconds: 0.5,
				Positions: wire.PositionsOf([]event.Position{{Topic: event.TopicEvents, Partition: 0, Offset: 7}}),
			},
		},
		Error: "disk full",
	}, nil
}

func (f fakeSnapshots) Delete(_ context.Context, name string) error {
	if name != "v1-20260304t030607z-00000001" {
		return fmt.Errorf("snapshot %q: %w", name, code.ErrNotFound)
	}
	return nil
}

// fakeReplays knows replay 1, which ended, and begins replay 2.
type fakeReplays struct{ *world }

func (r fakeReplays) Start(_ context.Context, in replay.Request) (replay.Replay, error) {
	switch {
	case in.Projection == "nothing":
		return replay.Replay{}, fmt.Errorf("%w: unknown projection %q; valid names are catalog, places", replay.ErrRefused, in.Projection)
	case r.asOf != "":
		return replay.Replay{}, fmt.Errorf("%w: replay 1 is at work", replay.ErrBusy)
	}
	return replay.Replay{ID: 2, Projection: in.Projection, To: in.To, State: replay.Building, BegunAt: day}, nil
}

func (r fakeReplays) Rollback(context.Context) (replay.Replay, error) {
	if r.asOf != "" {
		return replay.Replay{}, fmt.Errorf("%w: nothing is kept", replay.ErrBusy)
	}
	return replay.Replay{ID: 2, Rollback: true, State: replay.Building, BegunAt: day}, nil
}

func (r fakeReplays) Cancel(_ context.Context, id int) (replay.Replay, error) {
	if id != 1 {
		return replay.Replay{}, fmt.Errorf("replay %d: %w", id, code.ErrNotFound)
	}
	return r.endedReplay(), nil
}

func (r fakeReplays) endedReplay() replay.Replay {
	return replay.Replay{ID: 1, State: replay.Failed, Records: 10, RecordsTotal: 20, RecordsPerSecond: 2.5, Error: "disk full", BegunAt: day, EndedAt: day}
}

func (r fakeReplays) List(context.Context) (replay.List, error) {
	if r.err != nil {
		return replay.List{}, r.err
	}
	return replay.List{
		Current:     replay.Version{Name: "projections-3", CopyOf: "projections-2", Projection: "catalog", DiskBytes: 12345, CompletedAt: day},
		Previous:    &replay.Version{Name: "projections-2", AsOf: "2026-03-04T03:06:07Z", MissingDocuments: 2, MissingFiles: []string{"github.com/meadow/kettle: old.go"}},
		Replays:     []replay.Replay{r.endedReplay()},
		Projections: []string{"catalog", "places"},
	}, nil
}

type fakeErasures struct{ *world }

func (e fakeErasures) Erase(_ context.Context, r erasure.Request) (erasure.Erasure, error) {
	at, err := e.append("erase %d %s", r.Repository, r.Commit)
	return erasure.Erasure{
		At: at, Repository: r.Repository, Commit: r.Commit, Path: r.Path, State: erasure.Working, WaitsFor: erasure.WaitForWorkers, SharedFiles: 2, RequestedAt: day,
	}, err
}

func (e fakeErasures) List(context.Context) ([]erasure.Erasure, error) {
	return []erasure.Erasure{{
		Repository: kettleID, State: erasure.Done, RequestedAt: day, EndedAt: day, Proof: &erasure.Proof{Segments: 3, SegmentBytes: 4096, MirrorChecked: true},
	}}, e.err
}

// fakeDeadLetterList are the dead letters of the world, newest first.
func fakeDeadLetterList() []ledger.DeadLetter {
	at := func(topic event.Topic, offset event.Offset) event.Position {
		return event.Position{Topic: topic, Partition: 1, Offset: offset}
	}
	return []ledger.DeadLetter{
		{Position: at(event.TopicDeadLetters, 9), Of: at(event.TopicEvents, 31), Stage: "projections", Code: failure.Unreadable, Reason: "invalid", Attempts: 1, Type: event.TypeSegmentsMerged, At: day, ValueBytes: 40},
		{Position: at(event.TopicDeadLetters, 4), Of: at(event.TopicEvents, 17), Stage: "worker", Code: failure.Unreachable, Reason: "no route to host", Attempts: 5, Type: event.TypePush,
			Repository: kettleID, RepositoryName: "github.com/meadow/kettle", At: day, ValueBytes: 120, Copies: 1},
		{Position: at(event.TopicDeadLetters, 2), Stage: "worker", Code: failure.Other, Reason: "no event", At: day},
	}
}

func (w *world) ListDeadLetters(_ context.Context, q ledger.DeadLetterQuery) ([]ledger.DeadLetter, int, error) {
	w.registered = append(w.registered, fmt.Sprintf("letters %+v", q))
	var out []ledger.DeadLetter
	for _, l := range fakeDeadLetterList() {
		if (q.Stage == "" || q.Stage == l.Stage) && (q.Repository == 0 || q.Repository == l.Repository) {
			out = append(out, l)
		}
	}
	return out, 3, nil
}

func (w *world) GetDeadLetter(_ context.Context, at event.Position) (ledger.DeadLetter, event.Record, error) {
	for _, l := range fakeDeadLetterList() {
		if l.Position != at {
			continue
		}
		rec := event.Record{Position: l.Of, Key: []byte("\xff"), Value: []byte("\xfe"), Headers: []event.Header{{Name: "trace", Value: []byte("\x80")}}}
		if l.Type == event.TypePush {
			rec, _ = event.Encode(event.Envelope{ID: "x", Source: "/test", Time: day}, &event.Push{Repository: kettleID, Ref: "refs/heads/trunk", Action: event.ActionRefresh, ReceivedAt: day.UTC()})
		}
		return l, event.DeadLetter(rec, l.Stage, l.Attempts, errors.New(l.Reason)), nil
	}
	return ledger.DeadLetter{}, event.Record{}, fmt.Errorf("dead letter at %s is not open: %w", at, code.ErrNotFound)
}

func (w *world) ReplayDeadLetter(ctx context.Context, at event.Position) (event.Position, error) {
	l, _, err := w.GetDeadLetter(ctx, at)
	if err != nil {
		return event.Position{}, err
	}
	if l.Type != event.TypePush {
		return event.Position{}, fmt.Errorf("%w: %s cannot be replayed", failure.ErrConflict, at)
	}
	return w.append("replay %s", at)
}

func (w *world) DropDeadLetter(ctx context.Context, at event.Position, reason string) error {
	if _, _, err := w.GetDeadLetter(ctx, at); err != nil {
		return err
	}
	_, err := w.append("drop %s %s", at, reason)
	return err
}

var errDisk = errors.New("disk /dev/sda1 is on fire")

func (w *world) serverOptions() api.Options {
	return api.Options{
		Searcher: w, FileFinder: w, Views: w, Catalog: w, Numbers: fakeNumbers{}, Registrar: w, Status: w, Deliveries: w, DeadLetters: w, Source: newBrowser(failingGit{}), Outline: noOutline{},
		Gate: &w.gate, Audit: &w.audit,
		Replays: fakeReplays{w}, Snapshots: fakeSnapshots{w}, Erasures: fakeErasures{w}, AsOf: func() string { return w.asOf }, Missing: func() replay.Missing { return w.missing },
		Coverage: func() api.Coverage { return w.coverage }, MaxLag: 5 * time.Second,
		Ready:        func(context.Context) error { return w.readyErr },
		Version:      "v0.1.0-test",
		PublicURL:    "https://code.example/",
		MaxMatches:   1000,
		MaxBodyBytes: 100_000,
	}
}

func newServer(t *testing.T, o api.Options) *api.Server {
	t.Helper()
	s, err := api.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
