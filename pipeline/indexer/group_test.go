package indexer

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// pushOf returns a push of a branch, or of all refs, received the given number of seconds
// after 1970.
func (b *bench) pushOf(branch string, received int64) *event.Push {
	p := &event.Push{Repository: b.code.ID, Action: event.ActionRefresh, ReceivedAt: time.Unix(received, 0)}
	if branch != "" {
		p.Ref, p.Action = code.BranchRef(branch), event.ActionUpdated
	}
	return p
}

// deliverTogether appends pushes and delivers them as one.
func (b *bench) deliverTogether(pushes ...*event.Push) []event.Record {
	b.t.Helper()
	records := make([]event.Record, len(pushes))
	for i, p := range pushes {
		records[i] = b.append(p)
	}
	if err := b.deliver(records...); err != nil {
		b.t.Fatal(err)
	}
	return records
}

// loggedSince summarizes the log from an offset on: for a revision, its branch, cause and
// first receipt; for handled pushes, their offsets and outcomes.
func (b *bench) loggedSince(from event.Offset) string {
	b.t.Helper()
	var lines []string
	b.scanLog(from, func(_ event.Record, ev event.Event) {
		switch ev := ev.(type) {
		case *event.RevisionIndexed:
			lines = append(lines, fmt.Sprintf("%s by %d since %d", ev.Ref.Short(), ev.Cause.Offset-from, ev.PushedAt.Unix()))
		case *event.PushesHandled:
			for _, p := range ev.Pushes {
				lines = append(lines, fmt.Sprintf("%d %s", p.Offset-from, p.Outcome))
			}
		}
	})
	return strings.Join(lines, ", ")
}

func (b *bench) scanLog(from event.Offset, visit func(event.Record, event.Event)) {
	b.t.Helper()
	high, err := b.log.HighWater(b.t.Context(), event.TopicEvents)
	if err != nil {
		b.t.Fatal(err)
	}
	r, err := b.log.Tail(b.t.Context(), event.TopicEvents, 0, from)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for at := from; at < high[0]; at++ {
		rec, err := r.Next(b.t.Context())
		if err != nil {
			b.t.Fatal(err)
		}
		_, ev, err := event.Decode(rec)
		if err != nil {
			b.t.Fatal(err)
		}
		visit(rec, ev)
	}
}

// TestPushesTogetherAreOne handles pushes of several branches as one group: each
// branch is announced once, for its last push, and the other pushes get an outcome.
func TestPushesTogetherAreOne(t *testing.T) {
	t.Parallel()
	b := newBench(t, "dev*")
	b.repo.CommitFiles("a", "1\n")
	for _, name := range []string{"dev1", "dev2", "dev3", "other"} {
		b.repo.Git("branch", name)
	}
	b.registerRepository()
	b.repo.CommitFiles("a", "2\n")
	b.repo.Git("branch", "--force", "dev1")
	b.repo.Git("branch", "-D", "dev2")
	from := b.read
	fetches := b.countFetches()
	b.deliverTogether(b.pushOf("dev1", 10), b.pushOf("main", 11), b.pushOf("other", 12), b.pushOf("dev1", 13),
		b.pushOf("dev3", 14), b.pushOf("dev2", 15), b.pushOf("dev9", 16), b.pushOf("main", 17))
	b.check("main", "dev1", "dev3")
	if got, want := b.loggedSince(from), "main by 7 since 11, dev1 by 3 since 10, dev2 by 5 since 15, 2 unselected, 4 unchanged, 6 absent"; got != want {
		t.Errorf("the log says %q, want %q", got, want)
	}
	if n := b.countFetches() - fetches; n != 1 {
		t.Errorf("%d fetches, want 1", n)
	}

	b.repo.CommitFiles("a", "3\n")
	from = b.read
	b.deliverTogether(b.pushOf("main", 20), b.pushOf("", 21), b.pushOf("dev3", 22), b.pushOf("other", 23))
	if got, want := b.loggedSince(from), "main by 1 since 20, 1 refreshed, 2 unchanged, 3 unselected"; got != want {
		t.Errorf("the log says %q, want %q", got, want)
	}
	from = b.read
	b.push("main")
	b.must(&event.RepositoryRemoved{Repository: b.code.ID, At: time.Unix(3, 0)})
	b.push("main")
	if got, want := b.loggedSince(from), "0 unchanged, 3 unregistered"; got != want {
		t.Errorf("the log says %q, want %q", got, want)
	}
}

// countFetches returns the number of fetches of branches.
func (b *bench) countFetches() int {
	families, err := b.metrics.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	n := 0
	for _, f := range families {
		if f.GetName() != "quarry_mirror_fetch_seconds" {
			continue
		}
		for _, m := range f.GetMetric() {
			n += int(m.GetHistogram().GetSampleCount())
		}
	}
	return n
}

// TestAnOldPushHandledLateChangesNothing repeats overtaken pushes, as the replay of a
// dead letter does: the ref and the index do not change.
func TestAnOldPushHandledLateChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	old := b.repo.CommitFiles("a", "1\n")
	b.registerRepository()
	var pushes []*event.Push
	for i := range 3 {
		next := b.repo.CommitFiles("a", fmt.Sprint(i))
		p := b.pushOf("main", int64(i))
		p.Before, p.After = old, next
		pushes, old = append(pushes, p), next
	}
	b.deliverTogether(pushes...)
	b.check("main")
	for i, p := range pushes {
		from := b.read
		b.deliverTogether(p)
		if got := b.loggedSince(from); got != "0 unchanged" {
			t.Errorf("push %d again: the log says %q", i, got)
		}
		b.check("main")
	}
}

// TestPushesInBatchesAgainstAModel pushes at random, delivers pushes in batches of any
// size, fails at any append, and restarts from earlier records: in the end, the index
// equals the repository, and every push is answered.
func TestPushesInBatchesAgainstAModel(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 2))
			b := newBench(t, "dev*")
			b.repo.CommitFiles("a", "1\n")
			b.registerRepository()
			b.x.markEvery = 1
			var pending []event.Record // from the low-water mark on
			for range 25 {
				for range rng.IntN(4) {
					pending = append(pending, b.append(b.randomPush(rng)))
				}
				done := b.deliverSome(rng, pending)
				if rng.IntN(3) == 0 { // it was reassigned
					b.assigned = nil
					done = rng.IntN(done + 1)
				}
				pending = pending[done:]
			}
			if len(pending) > 0 {
				if err := b.deliver(pending...); err != nil {
					t.Fatal(err)
				}
			}
			b.deliverTogether(b.pushOf("", 1))
			b.check(b.selectedBranches()...)
			b.allAnswered()
		})
	}
}

// randomPush moves or deletes a branch and returns a push of that branch or of another
// one.
func (b *bench) randomPush(rng *rand.Rand) *event.Push {
	branches := []string{"main", "dev1", "dev2", "other"}
	branch := branches[rng.IntN(len(branches))]
	switch dice := rng.IntN(10); {
	case dice == 0:
		return b.pushOf("", 5)
	case dice < 3 && branch != "main":
		b.repo.Git("update-ref", "-d", "refs/heads/"+branch)
	case dice < 8:
		commit := b.repo.CommitFiles("a", fmt.Sprint(rng.Uint64()))
		b.repo.Git("update-ref", "refs/heads/"+branch, string(commit))
	}
	p := b.pushOf(branch, 5)
	if rng.IntN(8) == 0 {
		p.Action = event.ActionRefresh
	}
	return p
}

// deliverSome delivers records in batches of any size. An append may fail, whether or not
// the log has the record, and the batch is then delivered again. It returns how many
// records are done.
func (b *bench) deliverSome(rng *rand.Rand, records []event.Record) (done int) {
	for done < len(records) && rng.IntN(6) > 0 {
		n := 1 + rng.IntN(len(records)-done)
		log := b.x.o.Log
		if rng.IntN(3) == 0 {
			b.x.o.Log = &cutLog{Log: log, die: true}
		}
		err := b.deliver(records[done : done+n]...)
		b.x.o.Log = log
		if err != nil && !errors.Is(err, errKilled) {
			b.t.Fatal(err)
		}
		if err == nil {
			done += n
		}
	}
	return done
}

// selectedBranches returns the branches of the repository that are selected.
func (b *bench) selectedBranches() []string {
	names := strings.Fields(b.repo.Git("for-each-ref", "--format=%(refname:short)", "refs/heads/"))
	return slices.DeleteFunc(names, func(name string) bool { return name == "other" })
}

// allAnswered checks that every push is answered: by a revision of its ref whose cause is
// the push or a later event, or by an outcome that names it.
func (b *bench) allAnswered() {
	b.t.Helper()
	waiting := map[event.Offset]code.Ref{}
	b.scanLog(0, func(rec event.Record, ev event.Event) {
		switch ev := ev.(type) {
		case *event.Push:
			waiting[rec.Position.Offset] = ev.Ref
		case *event.RevisionIndexed:
			for at, ref := range waiting {
				if ref == ev.Ref && at <= ev.Cause.Offset {
					delete(waiting, at)
				}
			}
		case *event.PushesHandled:
			for _, p := range ev.Pushes {
				if p.Offset >= rec.Position.Offset {
					b.t.Errorf("%d is reported as done at %d", p.Offset, rec.Position.Offset)
				}
				delete(waiting, p.Offset)
			}
		}
	})
	if len(waiting) > 0 {
		b.t.Errorf("pushes without an answer: %v", waiting)
	}
}

// TestHandledEvent lists the pushes that neither this handling nor an earlier one announced:
// an announcement answers the pushes up to its cause, and the cause itself.
func TestHandledEvent(t *testing.T) {
	var records []event.Record
	var first *event.Push
	for i, ref := range []code.Ref{"refs/heads/a", "refs/heads/a", "refs/heads/a", "refs/heads/b", "refs/heads/c"} {
		p := &event.Push{Repository: 1, Ref: ref, Action: event.ActionUpdated, ReceivedAt: time.Unix(1, 0)}
		rec, err := event.Encode(event.Envelope{ID: "x", Source: "/test", Time: time.Unix(1, 0)}, p)
		if err != nil {
			t.Fatal(err)
		}
		rec.Position = event.Position{Topic: event.TopicEvents, Offset: event.Offset(10 + i)}
		if records = append(records, rec); first == nil {
			first = p
		}
	}
	g := groupPushes(first, records)
	g.byRef["refs/heads/b"].announced = true
	var offsets []event.Offset
	for _, p := range g.handledEvent(func(ref code.Ref) event.Offset {
		if ref == "refs/heads/a" {
			return 11
		}
		return -1
	}, time.Unix(2, 0)).Pushes {
		offsets = append(offsets, p.Offset)
	}
	if want := []event.Offset{12, 14}; !slices.Equal(offsets, want) {
		t.Errorf("pushes at %v have no announcement, want %v", offsets, want)
	}
}
