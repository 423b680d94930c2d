package server

import (
	"context"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/codehosts"
	"github.com/quarrysearch/quarry/ingest/webhook"
	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// doubtAccess is the type of webhook.Options.DoubtAccess.
type doubtAccess func(ctx context.Context, connection string, repository code.RepositoryID, removed string, at time.Time) (bool, error)

// newReceiver returns the webhook receiver. repositories is nil in a process without a
// catalog.
func (s *Server) newReceiver(repositories webhook.Repositories) (*webhook.Receiver, error) {
	o, log := s.o, s.log
	return webhook.New(webhook.Options{
		Kinds:       codehosts.Translators(),
		Connections: s.connections.Hooked,
		Appender:    urgentLog{log},
		PartitionOf: func(ctx context.Context, key []byte) (int32, error) {
			n, err := log.Partitions(ctx, event.TopicEvents)
			if err != nil {
				return 0, err
			}
			return eventlog.PartitionOf(key, n), nil
		},
		Repositories:  repositories,
		Admit:         s.registrar.CheckPolicy,
		Confirm:       s.confirmHint,
		Hint:          func(h webhook.Hint) bool { return s.hints.Add(discovery.Hint(h)) },
		Audit:         s.noteDelivery,
		Full:          s.backlog.IsFull,
		DoubtAccess:   s.hostRules.doubtAccess(log),
		MaxBodyBytes:  int64(o.Config.Ingest.MaxBodyBytes),
		AppendTimeout: o.Config.Ingest.AppendTimeout.Std(),
		Now:           boot.Now,
		Tracer:        s.traces.Tracer(),
		Logger:        o.Logger,
		Registerer:    o.Registerer,
	})
}

// urgentLog appends webhooks as urgent, because code hosts time out soon.
type urgentLog struct{ eventlog.Log }

// Append implements webhook.Appender.
func (u urgentLog) Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error) {
	return u.Log.Append(eventlog.Urgent(ctx), topic, partition, records...)
}
