package kafkalog

import (
	"context"
	"time"

	"github.com/segmentio/kafka-go/protocol/metadata"
)

const (
	// refreshTimeout bounds the wait for a broker to return the layout.
	refreshTimeout = time.Second
	// refreshPause is the minimum time between two refreshes, regardless of how many
	// readers and producers request one.
	refreshPause = 50 * time.Millisecond
	// layoutProbe is not a valid topic name, so it is never in a layout and no broker
	// creates it.
	layoutProbe = "quarry layout"
)

// refreshLayout makes the client library find the current leaders. On its own, the
// library refreshes once per metadataTTL and keeps sending to a leader that is down.
//
// The library has no call for this. But it updates its layout after each response to a
// request for an unknown topic, and it sends such a request to a broker only if the
// broker may create the topic. A failed refresh changes nothing: the caller retries in
// any case.
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
		return // another caller has just refreshed it
	}
	_, _ = l.transport.RoundTrip(ctx, l.client.Addr, &metadata.Request{TopicNames: []string{layoutProbe}, AllowAutoTopicCreation: true})
	l.refreshed = time.Now()
}
