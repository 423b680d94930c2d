package indexer

import (
	"context"
	"errors"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// cutOffLog is a log whose records below first were deleted.
type cutOffLog struct {
	Log
	first event.Offset
}

func (l *cutOffLog) Tail(ctx context.Context, topic event.Topic, partition int32, from event.Offset) (eventlog.Reader, error) {
	if from < l.first {
		return nil, &event.RangeError{First: l.first, End: l.first}
	}
	return l.Log.Tail(ctx, topic, partition, from)
}

// TestLostMirrorAndBeginning loses the mirror of a repository while the log lacks its beginning. The
// repository is indexed again if the log still has its registration. Otherwise the push fails: the
// repository may be registered.
func TestLostMirrorAndBeginning(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.repo.CommitFiles("a", "1\n")
	b.registerRepository()
	b.repo.CommitFiles("a", "2\n")
	b.push("main")
	registered := b.append(&event.RepositoryChanged{Repository: b.code})
	log := b.x.o.Log
	b.loseMirrors()
	b.repo.CommitFiles("a", "3\n")
	b.x.o.Log = &cutOffLog{log, registered.Position.Offset}
	b.push("main")
	b.check("main")

	b.loseMirrors()
	push := b.append(b.pushOf("main", 3))
	b.x.o.Log = &cutOffLog{log, push.Position.Offset}
	if err := b.deliver(push); !errors.Is(err, event.ErrOffsetOutOfRange) {
		t.Errorf("without the registration: %v, want ErrOffsetOutOfRange", err)
	}
}
