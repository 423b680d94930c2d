package deadletters_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/projections/deadletters"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/ledger"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// appender fails for topics as configured.
type appender struct {
	eventlog.Log
	fail event.Topic
}

var errFull = errors.New("the disk is full")

func (a *appender) Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error) {
	if topic == a.fail {
		return nil, errFull
	}
	return a.Log.Append(ctx, topic, partition, records...)
}

// catalog contains the registered repositories.
type catalog map[code.RepositoryID]code.Repository

func (c catalog) Registered(id code.RepositoryID) (code.Repository, bool) {
	r, ok := c[id]
	return r, ok
}

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// rig is a log with a follower and a replayer.
type rig struct {
	t        *testing.T
	log      eventlog.Log
	appender *appender
	catalog  catalog
	follower *deadletters.Follower
	replayer *deadletters.Replayer
	reg      *prometheus.Registry
}

func newRig(t *testing.T) *rig {
	log, err := embeddedlog.Open(t.TempDir(), embeddedlog.Options{Partitions: 2})
	must(t, err)
	r := &rig{t: t, log: log, appender: &appender{Log: log}, catalog: catalog{}}
	stop := r.startFollower()
	t.Cleanup(func() {
		stop()
		must(t, log.Close())
	})
	return r
}

// startFollower starts an empty follower, and returns a function that stops it.
func (r *rig) startFollower() (stop func()) {
	r.t.Helper()
	r.reg = prometheus.NewRegistry()
	var err error
	r.follower, err = deadletters.New(deadletters.Options{Log: r.log, Registerer: r.reg, Now: func() time.Time { return now }})
	must(r.t, err)
	r.replayer, err = deadletters.NewReplayer(deadletters.ReplayerOptions{
		Follower: r.follower, Log: r.log, Appender: r.appender, Catalog: r.catalog, Now: func() time.Time { return now },
	})
	must(r.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	f := r.follower
	go func() { ended <- f.Run(ctx) }()
	return func() {
		cancel()
		must(r.t, <-ended)
		f.Close()
	}
}

const repository code.RepositoryID = 7

func newRegistered(name string) *event.RepositoryRegistered {
	return &event.RepositoryRegistered{Repository: code.Repository{ID: repository, Kind: code.GenericGitHost, Name: name, CloneURL: "/srv/git/" + name}, At: now}
}

func newChanged(name string) *event.RepositoryChanged {
	return &event.RepositoryChanged{Repository: newRegistered(name).Repository, At: now}
}

func push() *event.Push {
	return &event.Push{Repository: repository, Ref: "refs/heads/main", Action: event.ActionUpdated, Connection: "hub", DeliveryID: "d-1", BodySHA256: strings.Repeat("0", 64), ReceivedAt: now.Add(-time.Hour)}
}

// appendEvent appends an event.
func (r *rig) appendEvent(ev event.Event) event.Record {
	r.t.Helper()
	rec, err := event.Encode(event.Envelope{ID: "x", Source: "/test", Time: now}, ev)
	must(r.t, err)
	return r.append(event.TopicEvents, rec)
}

func (r *rig) append(topic event.Topic, rec event.Record) event.Record {
	r.t.Helper()
	positions, err := r.log.Append(r.t.Context(), topic, eventlog.AnyPartition, rec)
	must(r.t, err)
	rec.Position = positions[0]
	return rec
}

// appendDeadLetter appends the dead letter of a record, and returns its position once the
// follower has read it.
func (r *rig) appendDeadLetter(rec event.Record, stage string) event.Position {
	r.t.Helper()
	_, before := r.follower.List(ledger.DeadLetterQuery{})
	at := r.append(event.TopicDeadLetters, event.DeadLetter(rec, stage, 5, errors.New("no route to host"))).Position
	r.await(before + 1)
	return at
}

// await waits until that many dead letters are open.
func (r *rig) await(open int) {
	r.t.Helper()
	clocktest.WaitUntil(r.t, fmt.Sprintf("%d open letters", open), func() bool {
		_, n := r.follower.List(ledger.DeadLetterQuery{})
		return n == open
	})
}

// recordsSince returns the events of the log after a record, as lines.
func (r *rig) recordsSince(rec event.Record) []event.Record {
	r.t.Helper()
	var out []event.Record
	high, err := r.log.HighWater(r.t.Context(), event.TopicEvents)
	must(r.t, err)
	for partition, end := range high {
		reader, err := r.log.Tail(r.t.Context(), event.TopicEvents, int32(partition), 0)
		must(r.t, err)
		for next := event.Offset(0); next < end; next++ {
			got, err := reader.Next(r.t.Context())
			must(r.t, err)
			if int32(partition) != rec.Position.Partition || got.Position.Offset > rec.Position.Offset {
				out = append(out, got)
			}
		}
		must(r.t, reader.Close())
	}
	return out
}

func formatRecord(t *testing.T, rec event.Record) string {
	t.Helper()
	_, ev, err := event.Decode(rec)
	must(t, err)
	switch e := ev.(type) {
	case *event.Push:
		return fmt.Sprintf("push %q %s %s %s", string(e.Ref), e.Action, e.Connection, e.DeliveryID)
	case *event.PushesHandled:
		return fmt.Sprintf("handled %d %s", e.Pushes[0].Offset, e.Pushes[0].Outcome)
	}
	return string(ev.EventType())
}

// TestReplay checks the replacement for each kind of dead letter, with different later
// events.
func TestReplay(t *testing.T) {
	merged := &event.SegmentsMerged{Inputs: []string{strings.Repeat("0", 32)}, At: now}
	indexed := &event.RevisionIndexed{Repository: repository, Ref: "refs/heads/topic", Cause: event.Position{Topic: event.TopicEvents}, IndexedAt: now}
	removed := &event.RepositoryRemoved{Repository: repository, At: now}
	delivery := &event.Delivery{Connection: "hub", DeliveryID: "d", Outcome: event.DeliveryIgnored, Reason: "ping", ReceivedAt: now}
	handled := &event.PushesHandled{Repository: repository, Pushes: []event.HandledPush{{Offset: 3, Outcome: event.PushAbsent}}, At: now}
	uploaded := &event.ScipUploaded{Repository: repository, Commit: code.CommitID(strings.Repeat("1", 40)), Object: "scip-1", Keep: 1, At: now}
	deleted := &event.ScipDeleted{Repository: repository, Object: "scip-1", At: now}
	submodules := &event.SubmodulesListed{Repository: repository, Submodules: []code.Submodule{}, Cause: event.Position{Topic: event.TopicEvents}, At: now}
	pins := &event.PinsChanged{Repository: repository, Commits: []code.CommitID{}, At: now}
	anvil, known := newRegistered("anvil"), newRegistered("anvil").Repository
	const refresh = `push "" refresh  replay-of-P-0`
	for _, test := range []struct {
		name  string
		ev    event.Event
		stage string
		known *code.Repository
		later []event.Event
		want  string
		err   error
	}{
		{"push", push(), "worker", &known, nil, `push "refs/heads/main" updated hub replay-of-P-0, handled 0 replayed`, nil},
		{"push of a repository that was removed", push(), "worker", nil, []event.Event{removed}, `push "refs/heads/main" updated hub replay-of-P-0, handled 0 replayed`, nil},
		{"registration", anvil, "worker", &known, nil, refresh, nil},
		{"registration that the catalog took with its default branch", anvil, "worker", &code.Repository{ID: 7, Kind: known.Kind, Name: known.Name, CloneURL: known.CloneURL, DefaultBranch: "trunk"}, nil, refresh, nil},
		{"registration that no catalog took", anvil, "projections", nil, nil, "dev.quarry.repository.registered.v1", nil},
		{"registration with news that no catalog took", newRegistered("new"), "projections", &known, nil, "dev.quarry.repository.registered.v1", nil},
		{"registration, then a change", newRegistered("old"), "worker", &known, []event.Event{newChanged("anvil")}, refresh, nil},
		{"registration, then a removal", anvil, "worker", nil, []event.Event{push(), removed, push()}, "", deadletters.ErrOvertaken},
		{"registration, then a removal and a change", anvil, "worker", nil, []event.Event{removed, newChanged("new")}, "", deadletters.ErrOvertaken},
		{"registration, then a removal that the catalog has not seen", anvil, "worker", &known, []event.Event{removed}, "", deadletters.ErrOvertaken},
		{"registration, removal, registration", newRegistered("old"), "worker", &known, []event.Event{removed, anvil}, refresh, nil},
		{"registration, then a removal of another", anvil, "worker", &known, []event.Event{&event.RepositoryRemoved{Repository: 8, At: now}}, refresh, nil},
		{"change", newChanged("anvil"), "worker", &known, nil, refresh, nil},
		{"change that no catalog took", newChanged("new"), "projections", &known, nil, "dev.quarry.repository.changed.v1", nil},
		{"change of what is not registered", newChanged("new"), "projections", nil, nil, "", deadletters.ErrOvertaken},
		{"removal", removed, "projections", &known, []event.Event{push()}, "dev.quarry.repository.removed.v1", nil},
		{"removal, then a registration", removed, "projections", &known, []event.Event{anvil}, "", deadletters.ErrOvertaken},
		{"removal, registration, removal", removed, "projections", nil, []event.Event{anvil, removed}, "dev.quarry.repository.removed.v1", nil},
		{"revision", indexed, "projections", &known, []event.Event{push()}, `push "refs/heads/topic" refresh  replay-of-P-0`, nil},
		{"precise index", uploaded, "projections", &known, []event.Event{&event.ScipDeleted{Repository: repository, Object: "scip-2", At: now}}, "dev.quarry.scip.uploaded.v1", nil},
		{"precise index, then its deletion", uploaded, "projections", &known, []event.Event{deleted}, "", deadletters.ErrOvertaken},
		{"precise index, then an erasure", uploaded, "projections", &known, []event.Event{&event.ErasureRequested{Repository: repository, Path: "x", At: now}}, "", deadletters.ErrOvertaken},
		{"precise index, then a removal", uploaded, "projections", nil, []event.Event{removed}, "", deadletters.ErrOvertaken},
		{"deletion of a precise index", deleted, "projections", &known, []event.Event{uploaded}, "dev.quarry.scip.deleted.v1", nil},
		{"submodules", submodules, "projections", &known, []event.Event{pins}, "dev.quarry.submodules.listed.v1", nil},
		{"pins", pins, "worker", &known, []event.Event{submodules}, "dev.quarry.pins.changed.v1", nil},
		{"pins, then others", pins, "worker", &known, []event.Event{pins}, "", deadletters.ErrOvertaken},
		{"pins, then a removal", pins, "worker", nil, []event.Event{removed}, "", deadletters.ErrOvertaken},
		{"merge", merged, "projections", &known, nil, "", deadletters.ErrNoReplay},
		{"delivery", delivery, "projections", nil, nil, "dev.quarry.delivery.v1", nil},
		{"handled pushes", handled, "projections", nil, nil, "handled 3 absent", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t)
			if test.known != nil {
				r.catalog[repository] = *test.known
			}
			given := r.appendEvent(test.ev)
			letter := r.appendDeadLetter(given, test.stage)
			last := given
			for _, ev := range test.later {
				if rec := r.appendEvent(ev); rec.Position.Partition == given.Position.Partition {
					last = rec
				}
			}
			by, err := r.replayer.Replay(t.Context(), letter)
			if !errors.Is(err, test.err) || (err == nil) != (test.err == nil) {
				t.Fatalf("Replay = %v, want %v", err, test.err)
			}
			var got []string
			for _, rec := range r.recordsSince(last) {
				if rec.Position.Partition != given.Position.Partition {
					continue // of another repository
				}
				got = append(got, formatRecord(t, rec))
				if len(got) == 1 && (rec.Position != by || header(rec, event.HeaderReplayOf) != letter.String()) {
					t.Errorf("%s is at %s and of %s; Replay said %s", got[0], rec.Position, header(rec, event.HeaderReplayOf), by)
				}
			}
			want := strings.ReplaceAll(test.want, "P", fmt.Sprint(given.Position.Partition))
			if s := strings.Join(got, ", "); s != want {
				t.Errorf("appended %s\nwant     %s", s, want)
			}
			_, open := r.follower.List(ledger.DeadLetterQuery{})
			if (open == 0) != (test.err == nil) {
				t.Errorf("%d letters are open", open)
			}
			_, err = r.replayer.Replay(t.Context(), letter)
			if err == nil || test.err == nil && !errors.Is(err, code.ErrNotFound) {
				t.Errorf("a second time: %v", err)
			}
		})
	}
}

func header(rec event.Record, name string) string {
	for _, h := range rec.Headers {
		if h.Name == name {
			return string(h.Value)
		}
	}
	return ""
}

// TestSuperseded checks which later events resolve a dead letter of the workers.
func TestSuperseded(t *testing.T) {
	const ref code.Ref = "refs/heads/main"
	commit := code.CommitID(strings.Repeat("1", 40))
	indexed := func(ref, base code.Ref, cause event.Offset) *event.RevisionIndexed {
		ev := &event.RevisionIndexed{Repository: repository, Ref: ref, Commit: commit, Cause: event.Position{Topic: event.TopicEvents, Offset: cause}, IndexedAt: now}
		if base != "" {
			ev.BaseRef, ev.BaseCommit = base, commit
		}
		return ev
	}
	handled := func(at event.Offset, outcome event.PushOutcome) *event.PushesHandled {
		return &event.PushesHandled{Repository: repository, Pushes: []event.HandledPush{{Offset: at, Outcome: outcome}}, At: now}
	}
	pushOf := func(ref code.Ref) *event.Push {
		p := push()
		p.Ref = ref
		if ref == "" {
			p.Action = event.ActionRefresh
		}
		return p
	}
	// The event that was given up has offset 0, later ones 1, 2, ….
	for _, tc := range []struct {
		what   string
		ev     event.Event
		later  []event.Event
		closed bool
	}{
		{"nothing", push(), nil, false},
		{"a later push that is not handled", push(), []event.Event{pushOf(ref)}, false},
		{"a later push indexed", push(), []event.Event{pushOf(ref), indexed(ref, ref, 1)}, true},
		{"a later push indexed another ref", push(), []event.Event{pushOf("refs/heads/x"), indexed("refs/heads/x", ref, 1)}, false},
		{"the same ref, by an earlier cause", push(), []event.Event{indexed(ref, ref, 0)}, false},
		{"a sync that indexed the ref", push(), []event.Event{newChanged("anvil"), indexed(ref, ref, 1)}, true},
		{"a later push that found it unchanged", push(), []event.Event{pushOf(ref), handled(1, event.PushUnchanged)}, true},
		{"a later push that was given up, too, and dropped", push(), []event.Event{pushOf(ref), handled(1, event.PushDropped)}, false},
		{"another push that found its ref unchanged", push(), []event.Event{pushOf("refs/heads/x"), handled(1, event.PushUnchanged)}, false},
		{"a refresh", push(), []event.Event{pushOf(""), handled(1, event.PushRefreshed)}, true},
		{"a removal", push(), []event.Event{&event.RepositoryRemoved{Repository: repository, At: now}}, true},
		{"a removal of another repository", push(), []event.Event{&event.RepositoryRemoved{Repository: 8, At: now}}, false},
		{"a registration, then a first index", newRegistered("anvil"), []event.Event{pushOf(ref), indexed(ref, "", 1)}, true},
		{"a registration, then a push of an indexed ref", newRegistered("anvil"), []event.Event{pushOf(ref), indexed(ref, ref, 1)}, false},
		{"a registration, then another that indexed", newRegistered("anvil"), []event.Event{newRegistered("anvil"), indexed(ref, ref, 1)}, true},
		{"a change, then a push", newChanged("anvil"), []event.Event{pushOf(ref), indexed(ref, "", 1)}, false},
		{"a change, then a refresh", newChanged("anvil"), []event.Event{pushOf(""), handled(1, event.PushRefreshed)}, true},
		{"a refresh, then a push of one ref", pushOf(""), []event.Event{pushOf(ref), indexed(ref, ref, 1)}, false},
		{"a refresh, then another that indexed", pushOf(""), []event.Event{pushOf(""), indexed(ref, ref, 1)}, true},
	} {
		t.Run(tc.what, func(t *testing.T) {
			r := newRig(t)
			given := r.appendEvent(tc.ev)
			letter := r.appendDeadLetter(given, "worker")
			for _, ev := range tc.later {
				r.appendEvent(ev)
			}
			must(t, r.replayer.ResolveSuperseded(t.Context()))
			if _, open := r.follower.List(ledger.DeadLetterQuery{}); (open == 0) != tc.closed {
				t.Errorf("%d dead letters are open, want it resolved: %t", open, tc.closed)
			}
			if !tc.closed {
				return
			}
			// The log says how, and a second process reads the same.
			reader, err := r.log.Tail(t.Context(), event.TopicDeadLetters, letter.Partition, letter.Offset+1)
			must(t, err)
			rec, err := reader.Next(t.Context())
			must(t, errors.Join(err, reader.Close()))
			if header(rec, event.HeaderResolution) != "superseded" || header(rec, event.HeaderResolvedReason) == "" || header(rec, event.HeaderResolvedBy) == "" {
				t.Errorf("resolved by %+v", rec)
			}
		})
	}
}

// TestUnreadableLogSupersedesNothing expects an error if the later events cannot be read.
func TestUnreadableLogSupersedesNothing(t *testing.T) {
	r := newRig(t)
	r.appendDeadLetter(r.appendEvent(newRegistered("anvil")), "worker")
	r.appendEvent(&event.RepositoryRemoved{Repository: repository, At: now})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errFull)
	if err := r.replayer.ResolveSuperseded(ctx); err == nil {
		t.Error("no error, and the events were not read")
	}
}

// TestReplayThatFailsHalfway makes the log fail between the replacement and the
// resolution, as in a crash. The dead letter stays open, and replaying it again appends
// the same events.
func TestReplayThatFailsHalfway(t *testing.T) {
	r := newRig(t)
	given := r.appendEvent(push())
	letter := r.appendDeadLetter(given, "worker")
	r.appender.fail = event.TopicDeadLetters
	if _, err := r.replayer.Replay(t.Context(), letter); !errors.Is(err, errFull) {
		t.Fatalf("Replay = %v, want %v", err, errFull)
	}
	r.await(1)
	r.appender.fail = ""
	_, err := r.replayer.Replay(t.Context(), letter)
	must(t, err)
	ids := map[string]int{}
	for _, rec := range r.recordsSince(given) {
		ids[header(rec, "ce_id")]++
	}
	if len(ids) != 2 || ids[letter.String()+"#replay"] != 2 {
		t.Errorf("events behind the push: %v", ids)
	}
	r.appender.fail = event.TopicEvents
	other := r.appendDeadLetter(r.appendEvent(newRegistered("anvil")), "worker")
	if _, err := r.replayer.Replay(t.Context(), other); !errors.Is(err, errFull) {
		t.Errorf("Replay = %v, want %v", err, errFull)
	}
	r.await(1)
}

// TestReplayOfALargeRecord checks that a truncated record is completed from the log.
func TestReplayOfALargeRecord(t *testing.T) {
	r := newRig(t)
	r.catalog[repository] = newRegistered("anvil").Repository
	changes := make([]event.Change, event.MaxInlineChanges)
	for i := range changes {
		changes[i].Path = fmt.Sprintf("%04d%s", i, strings.Repeat("x", 966))
	}
	changes[0].Path += strings.Repeat("y", 600) // the headers of the dead letter itself no longer fit
	given := r.appendEvent(&event.RevisionIndexed{Repository: repository, Ref: "refs/heads/main", Changes: changes, Cause: event.Position{Topic: event.TopicEvents}})
	letter := r.appendDeadLetter(given, "projections")
	if rec, err := r.follower.Read(t.Context(), letter); err != nil || len(rec.Value) > 0 {
		t.Fatalf("the dead letter has %d bytes: %v", len(rec.Value), err)
	}
	_, err := r.replayer.Replay(t.Context(), letter)
	must(t, err)
	if got := formatRecord(t, r.recordsSince(given)[0]); !strings.HasPrefix(got, `push "refs/heads/main" refresh`) {
		t.Errorf("appended %s", got)
	}
}

func TestDropAndWhatCannotBeRead(t *testing.T) {
	r := newRig(t)
	given := r.appendEvent(push())
	letter := r.appendDeadLetter(given, "worker")
	foreign := r.append(event.TopicEvents, event.Record{Value: []byte("hello")})
	strange := r.appendDeadLetter(foreign, "worker")
	if _, err := r.replayer.Replay(t.Context(), strange); !errors.Is(err, deadletters.ErrNoReplay) {
		t.Errorf("Replay = %v, want %v", err, deadletters.ErrNoReplay)
	}
	must(t, r.replayer.Drop(t.Context(), letter, "not ours"))
	must(t, r.replayer.Drop(t.Context(), strange, ""))
	if err := r.replayer.Drop(t.Context(), strange, ""); !errors.Is(err, code.ErrNotFound) {
		t.Errorf("Drop of what is dropped = %v, want %v", err, code.ErrNotFound)
	}
	var got []string
	for _, rec := range r.recordsSince(given) {
		if header(rec, "ce_type") != "" {
			got = append(got, formatRecord(t, rec))
		}
	}
	if strings.Join(got, ", ") != fmt.Sprintf("handled %d dropped", given.Position.Offset) {
		t.Errorf("appended %q", got)
	}
	// Another process reads the same.
	stop := r.startFollower()
	defer stop()
	marker := r.appendDeadLetter(r.appendEvent(newRegistered("anvil")), "worker")
	r.await(1)
	if letters, _ := r.follower.List(ledger.DeadLetterQuery{}); len(letters) != 1 || letters[0].Position != marker {
		t.Errorf("%+v", letters)
	}
}

// TestReplayOfAccountsAndAudit checks that replaying a dead letter of the accounts undoes
// nothing, and that one of the audit log is appended there again.
func TestReplayOfAccountsAndAudit(t *testing.T) {
	r := newRig(t)
	by := account.Actor{Kind: account.ActorSystem}
	add := func(topic event.Topic, ev event.Event) event.Record {
		rec, err := event.Encode(event.Envelope{ID: "x", Source: "/test", Time: now}, ev)
		must(t, err)
		return r.append(topic, rec)
	}
	removed := add(event.TopicAccounts, &event.UserRemoved{User: "u", By: by, At: now})
	letter := r.appendDeadLetter(removed, "projections")
	if _, err := r.replayer.Replay(t.Context(), letter); !errors.Is(err, deadletters.ErrNoReplay) {
		t.Errorf("Replay of an event of the accounts = %v, want %v", err, deadletters.ErrNoReplay)
	}
	must(t, r.replayer.Drop(t.Context(), letter, "done again by hand"))
	recorded := add(event.TopicAudit, &event.AuditRecorded{Records: []audit.Record{{At: now, Action: audit.Searched, Actor: by, TargetType: audit.TargetInstance}}})
	at, err := r.replayer.Replay(t.Context(), r.appendDeadLetter(recorded, "projections"))
	if want := (event.Position{Topic: event.TopicAudit, Offset: 1}); err != nil || at != want {
		t.Errorf("Replay of an event of the audit log = %s, %v; want %s", at, err, want)
	}
	r.await(0)
}

func TestList(t *testing.T) {
	r := newRig(t)
	given := r.appendEvent(push())
	letter := r.appendDeadLetter(given, "worker")
	again := event.DeadLetter(given, "worker", 1, errors.New("by another process"))
	r.append(event.TopicDeadLetters, again)
	r.append(event.TopicDeadLetters, again)
	r.appendDeadLetter(given, "projections")
	r.appendDeadLetter(event.Record{Value: []byte("?")}, "")
	letters, open := r.follower.List(ledger.DeadLetterQuery{Stage: "worker", Type: event.TypePush, Repository: repository})
	if open != 3 || len(letters) != 1 || letters[0].Position != letter || letters[0].Of != given.Position || letters[0].Copies != 2 ||
		letters[0].Reason != "no route to host" || letters[0].Attempts != 5 || letters[0].ValueBytes == 0 {
		t.Errorf("%d open, %+v", open, letters)
	}
	for _, none := range []ledger.DeadLetterQuery{{Stage: "compactor"}, {Type: event.TypeSegmentsMerged}, {Repository: 8}} {
		if letters, _ := r.follower.List(none); len(letters) > 0 {
			t.Errorf("%+v: %+v", none, letters)
		}
	}
	if l := r.follower.OfPush(given.Position); l == nil || l.Position != letter {
		t.Errorf("letter of the push: %+v", l)
	}
	if _, err := r.follower.Read(t.Context(), event.Position{Partition: 1, Offset: 99}); !errors.Is(err, code.ErrNotFound) {
		t.Errorf("Read = %v, want %v", err, code.ErrNotFound)
	}
	must(t, r.replayer.Drop(t.Context(), letter, ""))
	must(t, testutil.GatherAndCompare(r.reg, strings.NewReader(`
# HELP quarry_deadletters_open Open dead letters, by the stage that gave up the record.
# TYPE quarry_deadletters_open gauge
quarry_deadletters_open{stage="other"} 1
quarry_deadletters_open{stage="projections"} 1
quarry_deadletters_open{stage="worker"} 0
# HELP quarry_deadletters_resolved_total Dead letters that this process replayed, dropped, or found superseded by a later event.
# TYPE quarry_deadletters_resolved_total counter
quarry_deadletters_resolved_total{resolution="dropped"} 1
quarry_deadletters_resolved_total{resolution="replayed"} 0
quarry_deadletters_resolved_total{resolution="superseded"} 0
`), "quarry_deadletters_open", "quarry_deadletters_resolved_total"))
}

// TestBound checks that the count is exact beyond the number of held dead letters, and
// that older ones are held once there is room.
func TestBound(t *testing.T) {
	t.Cleanup(deadletters.Hold(4))
	r := newRig(t)
	var at []event.Position
	for range 11 {
		at = append(at, r.appendDeadLetter(r.appendEvent(newRegistered("anvil")), "worker"))
	}
	letters, open := r.follower.List(ledger.DeadLetterQuery{})
	if len(letters) != 4 || open != 11 || letters[0].Position != at[10] || letters[3].Position != at[7] {
		t.Fatalf("%d open, %+v", open, letters)
	}
	for _, position := range at[7:] {
		must(t, r.replayer.Drop(t.Context(), position, ""))
	}
	must(t, r.replayer.Drop(t.Context(), at[0], "by its place")) // not held, but open
	must(t, r.follower.Refill(t.Context()))
	letters, open = r.follower.List(ledger.DeadLetterQuery{})
	if len(letters) != 4 || open != 6 || letters[0].Position != at[6] || letters[3].Position != at[3] {
		t.Fatalf("%d open, %+v", open, letters)
	}
}
