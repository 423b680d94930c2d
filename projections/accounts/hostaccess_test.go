package accounts_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/accounts"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

func (r *rig) readHost(id code.RepositoryID, users ...string) {
	r.expectRefusal("", &event.HostAccessRead{ID: id, Connection: "hub", Users: users, At: r.now})
}

// usersOf returns the users who can read a repository, and the time of the reading.
func (r *rig) usersOf(id code.RepositoryID) (users []string, at time.Time) {
	all, _ := r.dir.HostAccess()
	if a := all[id]; a != nil {
		return a.Users, a.ReadAt
	}
	return nil, time.Time{}
}

func TestHostAccess(t *testing.T) {
	r := newRig(t)
	r.readHost(7, "77", "1042", "77")
	before, version := r.dir.HostAccess()
	if got, _ := r.usersOf(7); !slices.Equal(got, []string{"1042", "77"}) {
		t.Fatalf("users %v", got)
	}
	first := r.now
	r.now = r.now.Add(time.Hour)
	r.expectRefusal("", &event.HostAccessConfirmed{Connection: "hub", Repositories: []code.RepositoryID{7, 8}, At: r.now})
	if _, at := r.usersOf(7); !at.Equal(r.now) {
		t.Errorf("read at %v, want %v", at, r.now)
	}
	if _, now := r.dir.HostAccess(); now != version {
		t.Error("another version, and only a time has changed")
	}
	if !before[7].ReadAt.Equal(first) {
		t.Error("a map that readers have was changed")
	}
	r.expectRefusal("", &event.HostAccessRead{ID: 7, Connection: "hub", Users: []string{"5"}, At: first})
	if got, _ := r.usersOf(7); len(got) != 2 {
		t.Errorf("users %v of an earlier reading", got)
	}
	r.expectRefusal("", &event.HostAccessConfirmed{Connection: "other", Repositories: []code.RepositoryID{7}, At: r.now.Add(time.Hour)})
	if _, at := r.usersOf(7); !at.Equal(r.now) {
		t.Error("another connection confirmed what was read")
	}
	r.now = r.now.Add(time.Second)
	r.readHost(7)
	if got, at := r.usersOf(7); len(got) != 0 || !at.Equal(r.now) {
		t.Errorf("users %v at %v after all were taken away", got, at)
	}
	if _, now := r.dir.HostAccess(); now == version {
		t.Error("the same version, and users were taken away")
	}
	r.reopen()
	if _, at := r.usersOf(7); !at.Equal(r.now) {
		t.Error("what was read is gone after a start")
	}
	r.now = r.now.Add(91 * 24 * time.Hour)
	r.readHost(9, "1")
	r.expectRefusal("", &event.HostAccessConfirmed{Connection: "hub", Repositories: []code.RepositoryID{9}, At: r.now.Add(time.Second)})
	if all, _ := r.dir.HostAccess(); len(all) != 1 || all[9] == nil {
		t.Errorf("%d repositories, want the one that was read in the last 90 days", len(all))
	}
}

// TestHostAccessOfAWrongClock checks that a reading by a clock that was far ahead does
// not block all later ones.
func TestHostAccessOfAWrongClock(t *testing.T) {
	r := newRig(t)
	r.expectRefusal("", &event.HostAccessRead{ID: 7, Connection: "hub", Users: []string{"1042"}, At: r.now.Add(1000 * time.Hour)})
	r.readHost(7, "77")
	if got, at := r.usersOf(7); !slices.Equal(got, []string{"77"}) || !at.Equal(r.now) {
		t.Errorf("users %v as of %v", got, at)
	}
}

func TestHostDoubts(t *testing.T) {
	r := newRig(t)
	one, all := account.HostDoubt{Connection: "hub", Repository: 7}, account.HostDoubt{Connection: "hub"}
	r.expectRefusal("", &event.HostAccessDoubted{Connection: "hub", ID: 7, At: r.now})
	r.expectRefusal("", &event.HostAccessDoubted{Connection: "hub", At: r.now})
	want := map[account.HostDoubt]time.Time{one: r.now, all: r.now}
	for range 2 {
		if got := r.dir.HostDoubts(); !maps.Equal(got, want) {
			t.Errorf("doubts %v, want %v", got, want)
		}
		r.reopen()
	}
	r.readHost(7) // began at the time of the doubt: the host may have changed since
	if len(r.dir.HostDoubts()) != 2 {
		t.Error("a doubt is gone with a reading that began no later")
	}
	r.now = r.now.Add(time.Second)
	r.readHost(7)
	if got := r.dir.HostDoubts(); len(got) != 1 || got[all].IsZero() {
		t.Errorf("doubts %v", got)
	}
}

// TestHostAccessModel compares the rows with the events of random sequences, and checks
// the projection against the rules of all projections.
func TestHostAccessModel(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 19))
	now := start
	event1 := func() event.Event {
		now = now.Add(time.Duration(random.IntN(90)-20) * time.Minute)
		id, hub := code.RepositoryID(1+random.IntN(4)), fmt.Sprint("hub", random.IntN(2))
		switch random.IntN(4) {
		case 0:
			return &event.HostAccessConfirmed{Connection: hub, Repositories: []code.RepositoryID{id, id + 1}, At: now}
		case 1:
			return &event.HostAccessDoubted{Connection: hub, ID: id * code.RepositoryID(random.IntN(2)), At: now}
		}
		e := &event.HostAccessRead{ID: id, Connection: hub, At: now}
		for i := range random.IntN(4) {
			e.Users = append(e.Users, fmt.Sprint(random.IntN(9)*10+i))
		}
		return e
	}
	r, model := newRig(t), map[code.RepositoryID]account.HostAccess{}
	var records []event.Record
	for i := range 300 {
		ev := event1()
		records = append(records, record(t, event.Offset(i), ev))
		r.expectRefusal("", ev)
		switch e := ev.(type) {
		case *event.HostAccessRead:
			if old, found := model[e.ID]; !found || !old.ReadAt.After(e.At) {
				var users []string
				if len(e.Users) > 0 {
					users = slices.Sorted(slices.Values(e.Users))
				}
				model[e.ID] = account.HostAccess{Repository: e.ID, Connection: e.Connection, Users: users, ReadAt: e.At}
			}
		case *event.HostAccessConfirmed:
			for _, id := range e.Repositories {
				if a, found := model[id]; found && a.Connection == e.Connection && a.ReadAt.Before(e.At) {
					a.ReadAt = e.At
					model[id] = a
				}
			}
		}
		if i%40 == 0 {
			r.reopen()
		}
		got := map[code.RepositoryID]account.HostAccess{}
		all, _ := r.dir.HostAccess()
		for id, a := range all {
			got[id] = *a
		}
		if !reflect.DeepEqual(got, model) {
			t.Fatalf("event %d, %+v:\n%+v\nwant\n%+v", i, ev, got, model)
		}
	}
	projectiontest.Conform(t, records, nil, func(t *testing.T, s *store.Store, _ segmentstore.Store, d *projections.Decoder) ([]projections.Projection, func()) {
		dir, err := accounts.Open(accounts.Options{Store: s, Decoder: d})
		must(t, err)
		return []projections.Projection{dir}, dir.Close
	})
}

// TestRemovedHostUser checks that a user that a delivery names as removed loses the access
// at once, on one repository or all of the connection, and gets it back only by a reading
// that began later.
func TestRemovedHostUser(t *testing.T) {
	r := newRig(t)
	for id := range code.RepositoryID(3) {
		r.expectRefusal("", &event.HostAccessRead{ID: id + 7, Connection: "hub", Users: []string{"1042", "77"}, Emails: []string{"eve@example.org"}, At: r.now})
	}
	r.expectRefusal("", &event.HostAccessRead{ID: 20, Connection: "other", Users: []string{"1042"}, At: r.now})
	began := r.now.Add(time.Minute)
	r.now = r.now.Add(2 * time.Minute)
	_, version := r.dir.HostAccess()
	check := func(step string, id code.RepositoryID, want ...string) {
		t.Helper()
		if got, _ := r.usersOf(id); !slices.Equal(got, want) {
			t.Errorf("%s: users of %d are %v, want %v", step, id, got, want)
		}
	}
	r.expectRefusal("", &event.HostAccessDoubted{Connection: "hub", ID: 7, Removed: "1042", At: r.now})
	check("removed from one", 7, "77")
	check("removed from one", 8, "1042", "77")
	all, now := r.dir.HostAccess()
	if len(all[7].Emails) != 0 || len(all[8].Emails) != 1 || now == version {
		t.Errorf("addresses %v and %v, version %d, before %d", all[7].Emails, all[8].Emails, now, version)
	}
	r.expectRefusal("", &event.HostAccessRead{ID: 7, Connection: "hub", Users: []string{"1042", "77"}, At: began})
	check("a reading that began before", 7, "77")
	r.now = r.now.Add(time.Minute)
	r.expectRefusal("", &event.HostAccessRead{ID: 7, Connection: "hub", Users: []string{"1042", "77"}, At: r.now})
	check("a reading that began later", 7, "1042", "77")
	r.now = r.now.Add(time.Minute)
	r.expectRefusal("", &event.HostAccessDoubted{Connection: "hub", Removed: "1042", At: r.now})
	for id := range code.RepositoryID(3) {
		check("removed from all", id+7, "77")
	}
	check("another connection", 20, "1042")
	if doubts := r.dir.HostDoubts(); !doubts[account.HostDoubt{Connection: "hub"}].Equal(r.now) {
		t.Errorf("doubts %v: the permissions are not read again", doubts)
	}
}
