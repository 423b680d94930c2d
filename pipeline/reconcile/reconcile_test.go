package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// wait lets time pass, which the bubble of the test invents, and all goroutines
// come to rest.
func wait(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestALostPushIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		anvil := repositoryNamed("anvil")
		w.imported(anvil)
		r := w.start(Options{})
		wait(2 * time.Hour)
		if n := len(w.pushes()); n != 0 || looks(r, ResultEqual) != 2 {
			t.Fatalf("%d pushes and %d looks of a repository that is indexed, want 0 and 2", n, looks(r, ResultEqual))
		}
		w.at(anvil, string(main), string(next))
		wait(time.Hour + time.Minute)
		pushes := w.pushes()
		if len(pushes) != 1 || pushes[0].Ref != main || pushes[0].After != next || pushes[0].Before != first || pushes[0].Action != event.ActionUpdated {
			t.Fatalf("pushes %+v, want one of main to %s", pushes, next)
		}
		if s, ok := r.Status(anvil.ID); !ok || s.Result != ResultDrift || s.LookedAt.IsZero() || !s.NextAt.After(s.LookedAt) {
			t.Errorf("status %+v, want drift", s)
		}
		wait(3 * time.Hour) // nobody handles it: it waits
		if n := len(w.pushes()); n != 1 || drifts(r) != 1 || looks(r, ResultWaiting) != 3 {
			t.Errorf("%d pushes, %d drifts, %d times waiting; want 1, 1, 3", n, drifts(r), looks(r, ResultWaiting))
		}
		w.index(anvil, main, next, event.Position{Topic: event.TopicEvents, Offset: 2})
		wait(24 * time.Hour)
		if n := len(w.pushes()); n != 1 || drifts(r) != 1 {
			t.Errorf("%d pushes and %d drifts after it was indexed, want 1 and 1", n, drifts(r))
		}
	})
}

// A host that has moved before its hook arrives is not drift.
func TestAPushUnderWayIsNoDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		anvil := repositoryNamed("anvil")
		w.imported(anvil)
		r := w.start(Options{})
		wait(time.Until(nextLook(anvil.ID, time.Now(), time.Hour)) - time.Second)
		w.at(anvil, string(main), string(next))
		wait(5 * time.Second) // the first look; then the hook, and another push before the second
		at := w.append(&event.Push{Repository: anvil.ID, Ref: main, After: next, Action: event.ActionUpdated})
		w.index(anvil, main, next, at)
		w.at(anvil, string(main), string(third))
		wait(30 * time.Second)
		if looks(r, ResultSuspect) != 2 {
			t.Fatalf("%d suspicions, want 2", looks(r, ResultSuspect))
		}
		at = w.append(&event.Push{Repository: anvil.ID, Ref: main, After: third, Action: event.ActionUpdated})
		w.index(anvil, main, third, at)
		wait(time.Minute)
		if len(w.pushes()) != 0 || drifts(r) != 0 || looks(r, ResultEqual) != 1 {
			t.Errorf("%d pushes, %d drifts, %d equal; want 0, 0, 1", len(w.pushes()), drifts(r), looks(r, ResultEqual))
		}
	})
}

// A backlog of any length is no drift, but what is stuck in it is none either.
func TestWhatWaitsInTheLogIsNoDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		anvil, hammer := repositoryNamed("anvil"), repositoryNamed("hammer")
		w.imported(anvil)
		w.append(&event.RepositoryRegistered{Repository: hammer, At: time.Now()}) // its import waits
		w.append(&event.Push{Repository: anvil.ID, Ref: main, After: next, Action: event.ActionUpdated})
		w.at(anvil, string(main), string(next))
		w.at(hammer, string(main), string(first))
		r := w.start(Options{})
		wait(5 * time.Hour)
		if len(w.pushes()) != 0 || looks(r, ResultWaiting) != 10 {
			t.Errorf("%d pushes, %d times waiting; want 0 and 10", len(w.pushes()), looks(r, ResultWaiting))
		}
	})
}

func TestDifferencesAreNamed(t *testing.T) {
	tests := []struct {
		name string
		is   []string
		want string
	}{
		{"equal", []string{"refs/heads/main", string(first), "refs/heads/v1", string(first)}, ""},
		{"moved", []string{"refs/heads/main", string(next), "refs/heads/v1", string(first)}, "refs/heads/main updated 1>2;"},
		{"created", []string{"refs/heads/main", string(first), "refs/heads/v1", string(first), "refs/heads/v2", string(third)}, "refs/heads/v2 created >3;"},
		{"deleted", []string{"refs/heads/main", string(first)}, "refs/heads/v1 deleted 1>;"},
		{"another default branch", []string{"refs/heads/v1", string(first), "refs/heads/main", string(first)}, " refresh >;"},
		{"empty", nil, "refs/heads/main deleted 1>;refs/heads/v1 deleted 1>;"},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			anvil := repositoryNamed("anvil", "v*")
			w.imported(anvil)
			w.index(anvil, "refs/heads/v1", first, event.Position{Topic: event.TopicEvents})
			w.at(anvil, test.is...)
			r := w.start(Options{})
			wait(time.Hour + time.Minute)
			got := ""
			for _, p := range w.pushes() {
				got += fmt.Sprintf("%s %s %.1s>%.1s;", p.Ref, p.Action, p.Before, p.After)
			}
			if got != test.want || drifts(r) != len(w.pushes()) {
				t.Errorf("%s: pushes %q, want %q; %d drifts", test.name, got, test.want, drifts(r))
			}
		})
	}
}

func TestManyDifferencesAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		anvil := repositoryNamed("anvil", "**")
		w.imported(anvil)
		is := []string{string(main), string(first)}
		for i := range maxPushes + 1 {
			is = append(is, fmt.Sprintf("refs/heads/b%d", i), string(next))
		}
		w.at(anvil, is...)
		w.start(Options{})
		wait(time.Hour + time.Minute)
		if p := w.pushes(); len(p) != 1 || p[0].Ref != "" || p[0].Action != event.ActionRefresh {
			t.Errorf("pushes %+v, want one refresh of everything", p)
		}
	})
}

// What indexing does not mend is told again, ever more rarely, and counted once.
func TestWhatIndexingDoesNotMendIsToldRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		anvil := repositoryNamed("anvil")
		w.imported(anvil)
		w.at(anvil, string(main), string(next))
		r := w.start(Options{})
		for range 7 * 24 * 60 {
			wait(time.Minute)
			w.commit() // handled, in vain
		}
		pushes := w.pushes()
		// After 1, 2, 4, 8, 16 hours, then once a day.
		if n := len(pushes); n < 9 || n > 13 || drifts(r) != 1 {
			t.Errorf("%d pushes in a week and %d drifts, want about 11 and 1", n, drifts(r))
		}
		if pushes[0].DeliveryID == "" || pushes[0].DeliveryID != pushes[len(pushes)-1].DeliveryID {
			t.Errorf("deliveries %q and %q, want one ID", pushes[0].DeliveryID, pushes[len(pushes)-1].DeliveryID)
		}
	})
}

// A hook that arrived and was given up, and an import that was, are told again,
// and are no lost hooks.
func TestWhatWasGivenUpIsToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		anvil, hammer := repositoryNamed("anvil"), repositoryNamed("hammer")
		w.imported(anvil)
		w.append(&event.RepositoryRegistered{Repository: hammer, At: time.Now()})
		w.append(&event.Push{Repository: anvil.ID, Ref: main, After: next, Action: event.ActionUpdated})
		w.commit()
		w.at(anvil, string(main), string(next))
		w.at(hammer, string(main), string(first))
		r := w.start(Options{})
		wait(time.Hour + time.Minute)
		if n := len(w.pushes()); n != 2 || drifts(r) != 0 || looks(r, ResultTold) != 2 {
			t.Errorf("%d pushes, %d drifts, %d told; want 2, 0, 2", n, drifts(r), looks(r, ResultTold))
		}
	})
}

func TestFailuresBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		anvil := repositoryNamed("anvil")
		w.imported(anvil)
		w.mu.errs[anvil.ID] = errors.New("host cannot be reached")
		r := w.start(Options{})
		wait(7 * 24 * time.Hour)
		// After 1, 2, 4, 8, 16 hours, then once a day.
		if n := looks(r, ResultFailed); n < 10 || n > 12 {
			t.Errorf("%d looks in a week at a repository that fails, want about 11", n)
		}
		s, _ := r.Status(anvil.ID)
		if s.Result != ResultFailed || s.Code != failure.Other || s.Detail != "host cannot be reached" || s.NextAt.Sub(s.LookedAt) < 23*time.Hour {
			t.Errorf("status %+v, want the failure and a look in a day", s)
		}
		w.mu.Lock()
		delete(w.mu.errs, anvil.ID)
		w.mu.Unlock()
		wait(26 * time.Hour)
		if looks(r, ResultEqual) < 2 {
			t.Errorf("%d looks after it answered again, want one each hour", looks(r, ResultEqual))
		}
	})
}

// The looks at 10,000 repositories are spread over the interval, and stay where
// they are when the process starts again.
func TestLooksAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 10_000
		perMinute := map[int64]int{}
		now := time.Now()
		for i := range n {
			id := code.NewRepositoryID("test", fmt.Sprint(i))
			due := nextLook(id, now, time.Hour)
			if later := nextLook(id, now.Add(10*time.Minute), time.Hour); !later.Equal(due) && !later.Equal(due.Add(time.Hour)) {
				t.Fatalf("due at %s, and asked ten minutes later at %s", due, later)
			}
			if !due.After(now) || due.Sub(now) > time.Hour {
				t.Fatalf("due at %s, now it is %s", due, now)
			}
			perMinute[due.Unix()/60]++
		}
		for minute, looks := range perMinute {
			if looks > 2*n/60 {
				t.Errorf("%d looks in minute %d, want about %d", looks, minute, n/60)
			}
		}
	})
}

func TestEveryRepositoryHasItsTurnWithinTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.takes = 20 * time.Second
		var all []code.Repository
		for i := range 300 {
			all = append(all, repositoryNamed(fmt.Sprint("r", i)))
			w.imported(all[i])
		}
		r := w.start(Options{Concurrency: 2})
		wait(2 * time.Hour)
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.mu.most != 2 {
			t.Errorf("%d looks at once, want 2", w.mu.most)
		}
		for _, is := range all {
			if n := len(w.mu.looks[is.ID]); n < 1 || n > 2 {
				t.Errorf("%d looks at %s in two hours", n, is.Name)
			}
		}
		if looks(r, ResultEqual) < 500 {
			t.Errorf("%d looks in two hours, want about 600", looks(r, ResultEqual))
		}
	})
}

func TestRepositoriesComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.start(Options{})
		wait(time.Hour)
		anvil := repositoryNamed("anvil")
		w.imported(anvil)
		wait(time.Hour)
		if looks(r, ResultEqual) != 1 || r.count() != 1 {
			t.Fatalf("%d looks at %d repositories, want 1 at 1", looks(r, ResultEqual), r.count())
		}
		w.append(&event.RepositoryRemoved{Repository: anvil.ID, At: time.Now()})
		w.at(anvil, string(main), string(next))
		wait(3 * time.Hour)
		if _, ok := r.Status(anvil.ID); ok || looks(r, ResultEqual) != 1 || len(w.pushes()) != 0 {
			t.Errorf("a repository that was removed is looked at: %d looks, %d pushes", looks(r, ResultEqual), len(w.pushes()))
		}
	})
}

func TestBackoff(t *testing.T) {
	var got []time.Duration
	for i := range 8 {
		got = append(got, backoff(i+1, time.Hour)/time.Hour)
	}
	if want := []time.Duration{1, 2, 4, 8, 16, 24, 24, 24}; !slices.Equal(got, want) {
		t.Errorf("backoff in hours %v, want %v", got, want)
	}
	if got := backoff(3, 48*time.Hour); got != 48*time.Hour {
		t.Errorf("backoff of an interval of two days is %s", got)
	}
}
