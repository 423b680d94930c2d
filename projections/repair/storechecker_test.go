package repair_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections/repair"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/versions/versionstest"
	"github.com/quarrysearch/quarry/schemas/event"
)

// cutOffLog is a log whose first record was deleted.
type cutOffLog struct{ eventlog.Log }

func (l cutOffLog) Tail(ctx context.Context, topic event.Topic, partition int32, from event.Offset) (eventlog.Reader, error) {
	if from == 0 {
		return nil, &event.RangeError{First: 1, End: 1}
	}
	return l.Log.Tail(ctx, topic, partition, from)
}

// TestCheckWithoutBeginning checks a segment store, as quarry verify does, while the log lacks its
// beginning, of which nothing can be rebuilt.
func TestCheckWithoutBeginning(t *testing.T) {
	log, v := versionstest.Open(t, 1, "")
	appendEvent(t, log, &event.RepositoryRegistered{Repository: repository, At: time.Unix(1, 0)})
	objects, err := segmentstore.OpenDirectory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	said := new(bytes.Buffer)
	checker := repair.NewStoreChecker(cutOffLog{log}, objects, v.Live().Places.Acquire, t.TempDir(), slog.New(slog.NewTextHandler(said, nil)))
	if left, err := checker.Check(t.Context(), true); left != nil || err != nil || !strings.Contains(said.String(), "the beginning of the log was deleted") {
		t.Errorf("%v, %v, want nothing and a warning; the log says %s", left, err, said)
	}
}
