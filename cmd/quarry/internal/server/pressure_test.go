package server

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/schemas/event"
)

const pressureSecret = "a secret of 24 bytes or so"

// TestPressureReachesTheWebHooks stops the projections: the workers stop before
// they are too far ahead, then webhooks get 503, so that the backlog is bounded.
// Once the projections go on, everything does.
func TestPressureReachesTheWebHooks(t *testing.T) {
	const ahead, most = 40, 120
	g := newGitRepository(t, "pressed")
	commit := g.commitFiles("a.txt", "one")
	c := testConfig(t, "git.allowedRoots="+g.dir, fmt.Sprint("pipeline.maxAhead=", ahead), fmt.Sprint("ingest.maxBacklog=", most))
	c.Connections = []config.Connection{{Name: "local", Kind: g.Kind, Secrets: []config.Secret{config.NewSecret("whsec_" + base64.StdEncoding.EncodeToString([]byte(pressureSecret)))}}}
	registry := prometheus.NewRegistry()
	s := open(t, c, registry, registry)
	var stopped atomic.Pointer[[]projections.Checkpoint]
	live := s.pipeline.projectionLag.checkpoints
	s.pipeline.projectionLag.checkpoints = func() []projections.Checkpoint {
		if at := stopped.Load(); at != nil {
			return *at
		}
		return live()
	}
	run(t, s)
	s.registerAt(t, g, commit)

	at := live()
	stopped.Store(&at)
	accepted := 0
	push := func() bool {
		accepted++
		status, retry := s.pushTo(t, g, accepted)
		if status == http.StatusServiceUnavailable && retry != "" {
			accepted--
			return false
		}
		if status != http.StatusAccepted {
			t.Fatalf("a push: %d", status)
		}
		return true
	}
	waitUntil(t, func() bool {
		push()
		return gaugeValue(t, registry, `quarry_worker_paused`, "projections") == 1
	})
	done := s.committedOffsets(t)
	waitUntil(t, func() bool { return !push() })
	if now := s.committedOffsets(t); now > done+most { // a batch may have been in hand
		t.Errorf("the workers went on from %d to %d records while they were to wait", done, now)
	}
	if waits := gaugeValue(t, registry, "quarry_server_backlog_records", ""); waits <= most {
		t.Errorf("webhooks were refused while %v records waited, at most %d may", waits, most)
	}

	stopped.Store(nil)
	waitUntil(t, push)
	waitUntil(t, func() bool {
		high, err := s.log.HighWater(t.Context(), event.TopicEvents)
		if err != nil {
			t.Fatal(err)
		}
		var sum event.Offset
		for _, offset := range high {
			sum += offset
		}
		return s.committedOffsets(t) == sum && gaugeValue(t, registry, `quarry_worker_paused`, "projections") == 0
	})
}

// pushTo delivers a push of a repository, signed, and returns the status and when
// to come again.
func (s *Server) pushTo(t *testing.T, g *gitRepository, number int) (status int, retry string) {
	t.Helper()
	body, err := json.Marshal(map[string]string{"repository": g.dir, "ref": "refs/heads/main"})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequest(http.MethodPost, s.URL()+"/webhooks/genericGitHost/local", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	id, at := fmt.Sprint("msg_", number), fmt.Sprint(time.Now().Unix())
	request.Header.Set("webhook-id", id)
	request.Header.Set("webhook-timestamp", at)
	sum := hmac.New(sha256.New, []byte(pressureSecret))
	_, _ = fmt.Fprintf(sum, "%s.%s.%s", id, at, body) // a hash never fails
	request.Header.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(sum.Sum(nil)))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode, response.Header.Get("Retry-After")
}

// committedOffsets sums the offsets that the workers have committed.
func (s *Server) committedOffsets(t *testing.T) (sum event.Offset) {
	t.Helper()
	offsets, err := s.log.Committed(t.Context(), workerGroup, event.TopicEvents)
	if err != nil {
		t.Fatal(err)
	}
	for _, offset := range offsets {
		sum += offset
	}
	return sum
}

// gaugeValue returns a gauge, that with the given label value.
func gaugeValue(t *testing.T, registry *prometheus.Registry, name, value string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (value == "" || m.GetLabel()[0].GetValue() == value) {
				return m.GetGauge().GetValue()
			}
		}
	}
	t.Fatalf("no gauge %s %s", name, value)
	return 0
}

// noted is a log that says how far groups are.
type noted struct {
	eventlog.Log
	groups map[string][]event.Offset
	high   []event.Offset
	err    error
}

func (n *noted) Committed(_ context.Context, group string, _ event.Topic) ([]event.Offset, error) {
	return n.groups[group], n.err
}

func (n *noted) HighWater(context.Context, event.Topic) ([]event.Offset, error) { return n.high, n.err }

// TestHowFarBehindIsSummed adds up the lag of the partitions, and expects no wait
// where no position was noted.
func TestHowFarBehindIsSummed(t *testing.T) {
	log := &noted{high: []event.Offset{10, 20}, groups: map[string][]event.Offset{}}
	over := newBacklog(log, 15, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	for _, c := range []struct {
		projections, workers []event.Offset
		behind               int64
		full                 bool
	}{
		{[]event.Offset{0, 0}, []event.Offset{0, 0}, 0, true},
		{[]event.Offset{0, 1}, []event.Offset{10, 5}, 29, false},
		{[]event.Offset{12, 5}, []event.Offset{10, 4}, 15, true}, // noted after the log was asked
		{[]event.Offset{10, 20}, []event.Offset{10, 20}, 0, false},
	} {
		log.groups[projectionsGroup], log.groups[workerGroup] = c.projections, c.workers
		behind, err := (&projectionLag{log: log}).Behind(t.Context())
		over.updateBacklog(t.Context())
		if err != nil || behind != c.behind || over.isFull() != c.full {
			t.Errorf("projections at %v, workers at %v: %d behind, full %t, %v; want %+v", c.projections, c.workers, behind, over.isFull(), err, c)
		}
	}
	log.err = eventlog.ErrClosed
	if _, err := (&projectionLag{log: log}).Behind(t.Context()); err == nil {
		t.Error("a log that does not answer says nothing")
	}
}
