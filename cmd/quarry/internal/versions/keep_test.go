package versions

import (
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// TestKeepUntil checks how long the object of a merged segment stays, if its merge is in the
// log, is trimmed from it, and was lost with the end of it.
func TestKeepUntil(t *testing.T) {
	// Only the owners of topics in Kafka can trim quarry.events.
	log, err := embeddedlog.Open(t.TempDir(), embeddedlog.Options{Partitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}()
	for range 3 {
		if _, err := log.Append(t.Context(), event.TopicAudit, 0, event.Record{Value: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	var appended time.Time
	for rec, err := range event.ReadRange(t.Context(), log, event.TopicAudit, 0, 2, 3) {
		if err != nil {
			t.Fatal(err)
		}
		appended = rec.Time
	}
	if err := log.Trim(t.Context(), event.TopicAudit, 0, 2); err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	v := &Versions{o: Options{Config: &c, Log: log}}
	for _, test := range []struct {
		offset event.Offset
		want   time.Time
		lost   bool
	}{
		{offset: 2, want: appended.Add(24 * time.Hour)},
		{offset: 1, want: time.Unix(0, 0)},
		{offset: 3, lost: true},
		{offset: 9, lost: true},
	} {
		until, err := v.keepUntil(t.Context(), event.Position{Topic: event.TopicAudit, Offset: test.offset})
		if (err != nil) != test.lost || !test.lost && !until.Equal(test.want) {
			t.Errorf("a segment that record %d has merged away stays until %v, %v; want %v, lost: %t", test.offset, until, err, test.want, test.lost)
		}
	}
}
