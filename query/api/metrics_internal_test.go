package api

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/ledger"
)

type fixedConnectivity []ConnectionState

func (c fixedConnectivity) States() []ConnectionState         { return c }
func (fixedConnectivity) Sync(string, bool) ([]string, error) { return nil, nil }

// fixedDeliveries holds the ages of each connection's deliveries.
type fixedDeliveries struct {
	Deliveries
	now  time.Time
	ages map[string][]time.Duration
}

func (d fixedDeliveries) List(_ context.Context, q ledger.Query) (ledger.Page, error) {
	ages, found := d.ages[q.Connection]
	if !found {
		return ledger.Page{}, errors.New("the ledger cannot be read")
	}
	page := ledger.Page{Deliveries: []*ledger.Delivery{{ReceivedAt: d.now, Outcome: string(event.DeliveryRefused)}}}
	for _, age := range ages {
		page.Deliveries = append(page.Deliveries, &ledger.Delivery{ReceivedAt: d.now.Add(-age)})
	}
	return page, nil
}

// TestHookHealth checks that the metrics cover each connection that accepts webhooks, and
// ignore refused deliveries.
func TestHookHealth(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s := &Server{o: Options{
		Now:          func() time.Time { return now },
		Connectivity: fixedConnectivity{{Name: "busy", Hooked: true}, {Name: "silent", Hooked: true}, {Name: "listed"}, {Name: "broken", Hooked: true}},
		Deliveries: fixedDeliveries{now: now, ages: map[string][]time.Duration{
			"busy": {time.Hour, time.Hour + time.Minute, time.Hour + 2*time.Minute, time.Hour + 3*time.Minute, time.Hour + 4*time.Minute}, "silent": nil, "listed": {time.Hour},
		}},
	}}
	want := `# HELP quarry_connection_last_delivery_timestamp_seconds Unix time of the last accepted delivery of a connection; 0 if there is none.
# TYPE quarry_connection_last_delivery_timestamp_seconds gauge
quarry_connection_last_delivery_timestamp_seconds{connection="busy"} 1.7999964e+09
quarry_connection_last_delivery_timestamp_seconds{connection="silent"} 0
# HELP quarry_connection_usual_delivery_gap_seconds Median time between recent deliveries of a connection; 0 if there are fewer than five.
# TYPE quarry_connection_usual_delivery_gap_seconds gauge
quarry_connection_usual_delivery_gap_seconds{connection="busy"} 60
quarry_connection_usual_delivery_gap_seconds{connection="silent"} 0
`
	if err := testutil.CollectAndCompare(hookHealth{s}, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
