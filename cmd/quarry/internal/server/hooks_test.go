package server

import (
	"context"
	"encoding/base64"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// stuckAudit is a log that blocks appends of audit records while stuck is set, and counts
// urgent appends to other topics.
type stuckAudit struct {
	eventlog.Log
	stuck  atomic.Bool
	urgent atomic.Int64 // number of urgent appends
}

func (l *stuckAudit) Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error) {
	if topic == event.TopicAudit && l.stuck.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if eventlog.IsUrgent(ctx) {
		l.urgent.Add(1)
	}
	return l.Log.Append(ctx, topic, partition, records...)
}

// TestStuckAuditLogDoesNotDelayAWebHook checks that while the audit log accepts no
// records, reads are refused but a webhook is acknowledged.
func TestStuckAuditLogDoesNotDelayAWebHook(t *testing.T) {
	t.Parallel()
	g := newGitRepository(t, "pushed")
	commit := g.commitFiles("a.txt", "one")
	c := testConfig(t, "git.allowedRoots="+g.dir, "audit.queueBytes=65536", "audit.maxWait=50ms")
	c.Connections = []config.Connection{{Name: "local", Kind: g.Kind, Secrets: []config.Secret{config.NewSecret("whsec_" + base64.StdEncoding.EncodeToString([]byte(pressureSecret)))}}}
	registry := prometheus.NewRegistry()
	var log *stuckAudit
	s, err := Open(t.Context(), Options{
		Config: c, Logger: slog.New(slog.DiscardHandler), Registerer: registry, Gatherer: registry, Version: "test",
		wrapLog: func(l eventlog.Log) eventlog.Log { log = &stuckAudit{Log: l}; return log },
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	waitForCallers(t, s)
	s.registerAt(t, g, commit)
	log.stuck.Store(true)
	defer log.stuck.Store(false)
	waitUntil(t, func() bool {
		status, _ := s.asOperator(t, http.MethodPost, "/api/search", `{"query":"one"}`, "reading")
		return status == http.StatusServiceUnavailable
	})
	if status, _ := s.pushTo(t, g, 1); status != http.StatusAccepted {
		t.Errorf("a push while the audit log is stuck: %d, want 202", status)
	}
	if log.urgent.Load() == 0 {
		t.Error("the append of a webhook was not urgent")
	}
}
