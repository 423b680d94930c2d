package kafkalog

import (
	"context"
	"time"

	"github.com/segmentio/kafka-go/protocol/metadata"
)

const (
	// refreshTimeout bounds the wait for a broker to return the layout.
	refreshTimeout = time.Second
	// refreshPause is the least time between two refreshes, however many readers and
	// producers ask for one.
	refreshPause = 50 * time.Millisecond
	// layoutProbe is no valid name of a topic, so that it is in no layout and no
	// broker creates it.
	layoutProbe = "quarry layout"
)

// refreshLayout makes the client library find the current leaders. By itself it
// refreshes once in metadataTTL and keeps sending to a leader that has died.
//
// The library has no call for this, but it takes in a new layout after each answer
// to a request for a topic that it does not know, and sends such a request to a
// broker only if the broker may create the topic. A failed refresh changes nothing:
// the caller retries in any case.
func (l *Log) refreshLayout(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	select {
	case l.refreshing <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-l.refreshing }()
	if time.Since(l.refreshed) < refreshPause {
		return // another caller has just done it
	}
	_, _ = l.transport.RoundTrip(ctx, l.client.Addr, &metadata.Request{TopicNames: []string{layoutProbe}, AllowAutoTopicCreation: true})
	l.refreshed = time.Now()
}
