package catalog_test

import (
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections/catalog"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// TestVisibilityOfOldReadings checks that a description makes a private repository public
// only if nothing said "private" after its writer had begun to read, and that only pushes
// of the repository's own connection make it private.
func TestVisibilityOfOldReadings(t *testing.T) {
	r := newRig(t, 1)
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	repository := code.Repository{ID: 7, Kind: code.GitHub, Name: "hub/a", CloneURL: "https://hub/a.git", Connection: "hub"}
	appendEvent := func(ev event.Event) { r.apply(r.world.Append(0, ev)) }
	state := func() (bool, event.Offset) {
		known, ok := r.catalog.Snapshot().ByID(7)
		if !ok {
			t.Fatal("not registered")
		}
		return known.Private, known.PrivateMark
	}
	describe := func(private bool, mark *event.Offset) {
		next := repository
		next.Private = private
		appendEvent(&event.RepositoryChanged{Repository: next, PrivateMark: mark, At: at})
	}
	push := func(connection string, private bool) {
		appendEvent(&event.Push{Repository: 7, Action: event.ActionRefresh, Connection: connection, Private: private, ReceivedAt: at})
	}
	check := func(step string, want bool) {
		t.Helper()
		if private, mark := state(); private != want {
			t.Fatalf("%s: private %v, mark %d, want private %v", step, private, mark, want)
		}
	}
	appendEvent(&event.RepositoryRegistered{Repository: repository, At: at})
	check("registered as public", false)
	_, before := state()
	push("other", true)
	check("a private push of another connection", false)
	push("hub", false)
	check("a push that says nothing", false)
	push("hub", true)
	check("a private push", true)
	describe(false, &before)
	check("a public description that was read before it", true)
	_, seen := state()
	push("hub", true)
	describe(false, &seen)
	check("a public description read before the second push, of a repository that was private already", true)
	_, seen = state()
	describe(false, &seen)
	check("a public description read after it", false)
	describe(true, nil)
	describe(false, &seen)
	check("a public description read before a private one", true)
	describe(false, nil)
	check("a description that cannot be outdated", false)
	appendEvent(&event.RepositoryRemoved{Repository: 7, At: at})
	push("hub", true)
	if _, ok := r.catalog.Snapshot().ByID(7); ok {
		t.Error("a push registers a removed repository")
	}
}

// TestVisibilityOfRemovedRepositories checks that a removed repository keeps its private
// mark, also when the catalog is opened again, so that an older listing cannot register it
// again as public.
func TestVisibilityOfRemovedRepositories(t *testing.T) {
	r := newRig(t, 1)
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	repository := code.Repository{ID: 7, Kind: code.GitHub, Name: "hub/a", CloneURL: "https://hub/a.git", Connection: "hub"}
	register := func(mark event.Offset, wantPrivate bool) {
		t.Helper()
		r.apply(r.world.Append(0, &event.RepositoryRegistered{Repository: repository, PrivateMark: &mark, At: at}))
		if known, ok := r.catalog.Snapshot().ByID(7); !ok || known.Private != wantPrivate {
			t.Fatalf("registered with mark %d: %v, private %v, want private %v", mark, ok, ok && known.Private, wantPrivate)
		}
	}
	remove := func() (mark event.Offset) {
		t.Helper()
		r.apply(r.world.Append(0, &event.RepositoryRemoved{Repository: 7, At: at}))
		reopened, err := catalog.Open(catalog.Options{Store: r.applier.Store, Decoder: r.applier.Decoder})
		must(t, err)
		defer reopened.Close()
		mark = r.catalog.Snapshot().PrivateMark(7)
		if other := reopened.Snapshot().PrivateMark(7); other != mark {
			t.Fatalf("mark %d, opened again %d", mark, other)
		}
		return mark
	}
	register(0, false)
	if mark := remove(); mark != 0 {
		t.Fatalf("a repository that was always public leaves the mark %d", mark)
	}
	register(0, false)
	r.apply(r.world.Append(0, &event.Push{Repository: 7, Action: event.ActionRefresh, Connection: "hub", Private: true, ReceivedAt: at}))
	mark := remove()
	register(mark-1, true)
	if again := remove(); again != mark {
		t.Fatalf("mark %d after it was registered from an older listing, want %d", again, mark)
	}
	register(mark, false)
}
