package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// sleepFor advances the clock of the test's bubble, and waits until all goroutines are
// blocked.
func sleepFor(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestLostPushIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		anvil := repositoryNamed("anvil")
		w.registerIndexed(anvil)
		r := w.start(Options{})
		sleepFor(2 * time.Hour)
		if n := len(w.appendedPushes()); n != 0 || lookCount(r, ResultEqual) != 2 {
			t.Fatalf("%d pushes and %d looks of a repository that is indexed, want 0 and 2", n, lookCount(r, ResultEqual))
		}
		w.setBranches(anvil, string(main), string(next))
		sleepFor(time.Hour + time.Minute)
		pushes := w.appendedPushes()
		if len(pushes) != 1 || pushes[0].Ref != main || pushes[0].After != next || pushes[0].Before != first || pushes[0].Action != event.ActionUpdated {
			t.Fatalf("pushes %+v, want one of main to %s", pushes, next)
		}
		if s, ok := r.Status(anvil.ID); !ok || s.Result != ResultDrift || s.LookedAt.IsZero() || !s.NextAt.After(s.LookedAt) {
			t.Errorf("status %+v, want drift", s)
		}
		sleepFor(3 * time.Hour) // no worker handles it
		if n := len(w.appendedPushes()); n != 1 || driftCount(r) != 1 || lookCount(r, ResultWaiting) != 3 {
			t.Errorf("%d pushes, %d drifts, %d times waiting; want 1, 1, 3", n, driftCount(r), lookCount(r, ResultWaiting))
		}
		w.appendIndexed(anvil, main, next, event.Position{Topic: event.TopicEvents, Offset: 2})
		sleepFor(24 * time.Hour)
		if n := len(w.appendedPushes()); n != 1 || driftCount(r) != 1 {
			t.Errorf("%d pushes and %d drifts after it was indexed, want 1 and 1", n, driftCount(r))
		}
	})
}

// A branch that moved on the host before its webhook arrives is not drift.
func TestUnfinishedPushIsNotDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		anvil := repositoryNamed("anvil")
		w.registerIndexed(anvil)
		r := w.start(Options{})
		sleepFor(time.Until(nextLook(anvil.ID, time.Now(), time.Hour)) - time.Second)
		w.setBranches(anvil, string(main), string(next))
		sleepFor(5 * time.Second) // the first check; then the webhook, and another push before the second check
		at := w.append(&event.Push{Repository: anvil.ID, Ref: main, After: next, Action: event.ActionUpdated})
		w.appendIndexed(anvil, main, next, at)
		w.setBranches(anvil, string(main), string(third))
		sleepFor(30 * time.Second)
		if lookCount(r, ResultSuspect) != 2 {
			t.Fatalf("%d suspicions, want 2", lookCount(r, ResultSuspect))
		}
		at = w.append(&event.Push{Repository: anvil.ID, Ref: main, After: third, Action: event.ActionUpdated})
		w.appendIndexed(anvil, main, third, at)
		sleepFor(time.Minute)
		if len(w.appendedPushes()) != 0 || driftCount(r) != 0 || lookCount(r, ResultEqual) != 1 {
			t.Errorf("%d pushes, %d drifts, %d equal; want 0, 0, 1", len(w.appendedPushes()), driftCount(r), lookCount(r, ResultEqual))
		}
	})
}

// A backlog of any length is not drift, and neither is a push that is stuck in it.
func TestPendingPushIsNotDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		anvil, hammer := repositoryNamed("anvil"), repositoryNamed("hammer")
		w.registerIndexed(anvil)
		w.append(&event.RepositoryRegistered{Repository: hammer, At: time.Now()}) // its import has not been handled
		w.append(&event.Push{Repository: anvil.ID, Ref: main, After: next, Action: event.ActionUpdated})
		w.setBranches(anvil, string(main), string(next))
		w.setBranches(hammer, string(main), string(first))
		r := w.start(Options{})
		sleepFor(5 * time.Hour)
		if len(w.appendedPushes()) != 0 || lookCount(r, ResultWaiting) != 10 {
			t.Errorf("%d pushes, %d times waiting; want 0 and 10", len(w.appendedPushes()), lookCount(r, ResultWaiting))
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
			w.registerIndexed(anvil)
			w.appendIndexed(anvil, "refs/heads/v1", first, event.Position{Topic: event.TopicEvents})
			w.appendIndexed(anvil, code.PinRef(third), third, event.Position{Topic: event.TopicEvents}) // the host has no such ref
			w.setBranches(anvil, test.is...)
			r := w.start(Options{})
			sleepFor(time.Hour + time.Minute)
			got := ""
			for _, p := range w.appendedPushes() {
				got += fmt.Sprintf("%s %s %.1s>%.1s;", p.Ref, p.Action, p.Before, p.After)
			}
			if got != test.want || driftCount(r) != len(w.appendedPushes()) {
				t.Errorf("%s: pushes %q, want %q; %d drifts", test.name, got, test.want, driftCount(r))
			}
		})
	}
}

func TestManyDifferencesAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		anvil := repositoryNamed("anvil", "**")
		w.registerIndexed(anvil)
		is := []string{string(main), string(first)}
		for i := range maxPushes + 1 {
			is = append(is, fmt.Sprintf("refs/heads/b%d", i), string(next))
		}
		w.setBranches(anvil, is...)
		w.start(Options{})
		sleepFor(time.Hour + time.Minute)
		if p := w.appendedPushes(); len(p) != 1 || p[0].Ref != "" || p[0].Action != event.ActionRefresh {
			t.Errorf("pushes %+v, want one refresh of everything", p)
		}
	})
}

// A difference that indexing does not resolve is announced with backoff and counted once.
func TestPersistentDriftIsReportedWithBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		anvil := repositoryNamed("anvil")
		w.registerIndexed(anvil)
		w.setBranches(anvil, string(main), string(next))
		r := w.start(Options{})
		for range 7 * 24 * 60 {
			sleepFor(time.Minute)
			w.commit() // handled without success
		}
		pushes := w.appendedPushes()
		// After 1, 2, 4, 8, 16 hours, then once a day.
		if n := len(pushes); n < 9 || n > 13 || driftCount(r) != 1 {
			t.Errorf("%d pushes in a week and %d drifts, want about 11 and 1", n, driftCount(r))
		}
		if pushes[0].DeliveryID == "" || pushes[0].DeliveryID != pushes[len(pushes)-1].DeliveryID {
			t.Errorf("deliveries %q and %q, want one ID", pushes[0].DeliveryID, pushes[len(pushes)-1].DeliveryID)
		}
	})
}

// A push that was given up, and an import that was, are announced again, and do not count
// as lost deliveries.
func TestFailedPushIsReportedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		anvil, hammer := repositoryNamed("anvil"), repositoryNamed("hammer")
		w.registerIndexed(anvil)
		w.append(&event.RepositoryRegistered{Repository: hammer, At: time.Now()})
		w.append(&event.Push{Repository: anvil.ID, Ref: main, After: next, Action: event.ActionUpdated})
		w.commit()
		w.setBranches(anvil, string(main), string(next))
		w.setBranches(hammer, string(main), string(first))
		r := w.start(Options{})
		sleepFor(time.Hour + time.Minute)
		if n := len(w.appendedPushes()); n != 2 || driftCount(r) != 0 || lookCount(r, ResultReported) != 2 {
			t.Errorf("%d pushes, %d drifts, %d reported; want 2, 0, 2", n, driftCount(r), lookCount(r, ResultReported))
		}
	})
}

func TestFailuresBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		anvil := repositoryNamed("anvil")
		w.registerIndexed(anvil)
		w.mu.errs[anvil.ID] = errors.New("host cannot be reached")
		r := w.start(Options{})
		sleepFor(7 * 24 * time.Hour)
		// After 1, 2, 4, 8, 16 hours, then once a day.
		if n := lookCount(r, ResultFailed); n < 10 || n > 12 {
			t.Errorf("%d looks in a week at a repository that fails, want about 11", n)
		}
		s, _ := r.Status(anvil.ID)
		if s.Result != ResultFailed || s.Code != failure.Other || s.Detail != "host cannot be reached" || s.NextAt.Sub(s.LookedAt) < 23*time.Hour {
			t.Errorf("status %+v, want the failure and a look in a day", s)
		}
		w.mu.Lock()
		delete(w.mu.errs, anvil.ID)
		w.mu.Unlock()
		sleepFor(26 * time.Hour)
		if lookCount(r, ResultEqual) < 2 {
			t.Errorf("%d looks after it answered again, want one each hour", lookCount(r, ResultEqual))
		}
	})
}

// After an outage of a day, every repository of the host is checked within an hour of the
// first one that answers; those of a host that is still down continue to wait.
func TestTheEndOfAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var back, down []code.Repository
		for i := range 12 {
			is := repositoryNamed(fmt.Sprintf("r%d", i))
			is.CloneURL = "https://back.example/" + is.Name + ".git"
			if i%2 == 0 {
				is.CloneURL = "https://down.example/" + is.Name + ".git"
				down = append(down, is)
			} else {
				back = append(back, is)
			}
			w.registerIndexed(is)
		}
		r := w.start(Options{})
		// They become unreachable at different times, so that their waits differ.
		for i, is := range slices.Concat(back, down) {
			w.mu.Lock()
			w.mu.errs[is.ID] = fmt.Errorf("list: %w", mirror.ErrUnreachable)
			w.mu.Unlock()
			sleepFor(time.Duration(1+i%6) * 3 * time.Hour)
		}
		sleepFor(3 * 24 * time.Hour)
		answered := lookCount(r, ResultEqual)
		w.mu.Lock()
		for _, is := range back {
			delete(w.mu.errs, is.ID)
		}
		w.mu.Unlock()
		first := time.Duration(0)
		for ; lookCount(r, ResultEqual) == answered; first += time.Minute {
			sleepFor(time.Minute)
		}
		sleepFor(time.Hour)
		for _, is := range back {
			if s, _ := r.Status(is.ID); s.Result != ResultEqual {
				t.Errorf("%s, %v after the first answer and an hour: %+v", is.Name, first, s)
			}
		}
		for _, is := range down {
			if s, _ := r.Status(is.ID); s.Code != failure.Unreachable || s.NextAt.Sub(s.LookedAt) < 23*time.Hour {
				t.Errorf("%s, whose host is down: %+v", is.Name, s)
			}
		}
		if len(r.mu.unreachable) != 1 || len(r.mu.unreachable["down.example"]) != len(down) {
			t.Errorf("unreachable: %v", r.mu.unreachable)
		}
	})
}

// The checks of 10,000 repositories are spread over the interval, and keep their times
// when the process restarts.
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
			w.registerIndexed(all[i])
		}
		r := w.start(Options{Concurrency: 2})
		sleepFor(2 * time.Hour)
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
		if lookCount(r, ResultEqual) < 500 {
			t.Errorf("%d looks in two hours, want about 600", lookCount(r, ResultEqual))
		}
	})
}

func TestRepositoriesComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.start(Options{})
		sleepFor(time.Hour)
		anvil := repositoryNamed("anvil")
		w.registerIndexed(anvil)
		sleepFor(time.Hour)
		if lookCount(r, ResultEqual) != 1 || r.repositoryCount() != 1 {
			t.Fatalf("%d looks at %d repositories, want 1 at 1", lookCount(r, ResultEqual), r.repositoryCount())
		}
		w.append(&event.RepositoryRemoved{Repository: anvil.ID, At: time.Now()})
		w.setBranches(anvil, string(main), string(next))
		sleepFor(3 * time.Hour)
		if _, ok := r.Status(anvil.ID); ok || lookCount(r, ResultEqual) != 1 || len(w.appendedPushes()) != 0 {
			t.Errorf("a repository that was removed is looked at: %d looks, %d pushes", lookCount(r, ResultEqual), len(w.appendedPushes()))
		}
	})
}

func TestBackoff(t *testing.T) {
	var got []time.Duration
	for i := range 8 {
		got = append(got, backoffInterval(i+1, time.Hour)/time.Hour)
	}
	if want := []time.Duration{1, 2, 4, 8, 16, 24, 24, 24}; !slices.Equal(got, want) {
		t.Errorf("backoff in hours %v, want %v", got, want)
	}
	if got := backoffInterval(3, 48*time.Hour); got != 48*time.Hour {
		t.Errorf("backoff of an interval of two days is %s", got)
	}
}
