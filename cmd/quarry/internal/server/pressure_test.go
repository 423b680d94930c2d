package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/ingest/signature"
	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/schemas/event"
)

const pressureSecret = "a secret of 24 bytes or so"

// TestPressureReachesTheWebHooks stops the projections. The workers stop before they are
// too far ahead, then webhooks get 503, so that the backlog is bounded. Everything
// resumes once the projections do.
func TestPressureReachesTheWebHooks(t *testing.T) {
	t.Parallel()
	const ahead, most = 40, 120
	g := newGitRepository(t, "pressed")
	commit := g.commitFiles("a.txt", "one")
	c := testConfig(t, "git.allowedRoots="+g.dir, fmt.Sprint("pipeline.maxAhead=", ahead), fmt.Sprint("ingest.maxBacklog=", most))
	c.Connections = []config.Connection{{Name: "local", Kind: g.Kind, Secrets: []config.Secret{config.NewSecret("whsec_" + base64.StdEncoding.EncodeToString([]byte(pressureSecret)))}}}
	registry := prometheus.NewRegistry()
	s := open(t, c, registry, registry)
	var stopped atomic.Pointer[[]event.Offset]
	live := s.pipeline.projectionLag.Applied
	s.pipeline.projectionLag.Applied = func(ctx context.Context) ([]event.Offset, error) {
		if at := stopped.Load(); at != nil {
			return *at, nil
		}
		return live(ctx)
	}
	run(t, s)
	s.registerAt(t, g, commit)

	at, err := live(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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
			t.Fatalf("a push: %d, want %d", status, http.StatusAccepted)
		}
		return true
	}
	waitUntil(t, func() bool {
		push()
		return gaugeValue(t, registry, `quarry_worker_paused`, "projections") == 1
	})
	done := s.committedOffsets(t)
	waitUntil(t, func() bool { return !push() })
	if now := s.committedOffsets(t); now > done+most { // a batch may have been in progress
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

// pushTo delivers a signed push of a repository. It returns the status and the
// Retry-After header.
func (s *Server) pushTo(t *testing.T, g *gitRepository, number int) (status int, retry string) {
	t.Helper()
	return s.deliverHook(t, fmt.Sprint("msg_", number), map[string]any{"repository": g.dir, "ref": "refs/heads/main"})
}

// deliverHook sends a delivery to the connection local, signed with pressureSecret. It
// returns the status and the Retry-After header.
func (s *Server) deliverHook(t *testing.T, id string, payload map[string]any) (status int, retry string) {
	t.Helper()
	body, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequest(http.MethodPost, s.URL()+"/webhooks/genericGitHost/local", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	signature.SetStandard(request.Header, id, time.Now(), body, []byte(pressureSecret))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode, response.Header.Get("Retry-After")
}

// committedOffsets returns the sum of the offsets that the workers have committed.
func (s *Server) committedOffsets(t *testing.T) (sum event.Offset) {
	t.Helper()
	offsets, err := s.log.Committed(t.Context(), worker.DefaultGroup, event.TopicEvents)
	if err != nil {
		t.Fatal(err)
	}
	for _, offset := range offsets {
		sum += offset
	}
	return sum
}

// gaugeValue returns the value of a gauge with the given label value.
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
