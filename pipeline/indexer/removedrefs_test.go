package indexer

import (
	"context"
	"fmt"
	"testing"

	"github.com/quarrysearch/quarry/schemas/event"
)

// appendCounter counts appends, and the records of the largest append.
type appendCounter struct {
	Log
	appends, most int
}

func (l *appendCounter) Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error) {
	l.appends, l.most = l.appends+1, max(l.most, len(records))
	return l.Log.Append(ctx, topic, partition, records...)
}

// TestManyDeletedBranchesAreOneAppend deletes most of many branches in one push, and
// then, after the mirror was lost, all branches of a second set.
func TestManyDeletedBranchesAreOneAppend(t *testing.T) {
	t.Parallel()
	const branches = 300
	b := newBench(t, "**")
	b.repo.CommitFiles("a.go", "package a\n")
	create := func(to int) {
		args := []string{"fetch", "--quiet", "."}
		for i := range to {
			args = append(args, fmt.Sprintf("main:refs/heads/b%03d", i))
		}
		b.repo.Git(args...)
	}
	remove := func(to int) {
		args := []string{"branch", "--quiet", "-D"}
		for i := range to {
			args = append(args, fmt.Sprintf("b%03d", i))
		}
		b.repo.Git(args...)
	}
	create(branches)
	b.registerRepository()
	log := &appendCounter{Log: b.x.o.Log}
	b.x.o.Log = log
	remove(branches - 2)
	b.must(b.refreshOf(""))
	b.check("main", "b298", "b299")
	// One append announces the deletions, one the handled push.
	if log.appends != 2 || log.most != branches-2 {
		t.Errorf("%d appends, the largest of %d records", log.appends, log.most)
	}

	create(branches - 2)
	b.must(b.refreshOf(""))
	remove(branches)
	b.loseMirrors()
	log.appends, log.most = 0, 0
	b.must(b.refreshOf(""))
	b.check("main")
	if log.most != branches || log.appends > 3 {
		t.Errorf("after the loss of the mirror: %d appends, the largest of %d records", log.appends, log.most)
	}
}
