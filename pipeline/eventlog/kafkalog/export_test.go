package kafkalog

import (
	"context"
	"net"

	"github.com/quarrysearch/quarry/schemas/event"
)

// DeleteAnyway deletes the beginning of a partition as an operator or the retention of brokers
// does, also of a topic that is kept whole.
func (l *Log) DeleteAnyway(ctx context.Context, topic event.Topic, partition int32, before event.Offset) error {
	return l.deleteRecords(ctx, topic, partition, before)
}

// Wrapped returns options that apply wrap to every connection to a broker.
func (o Options) Wrapped(wrap func(net.Conn) net.Conn) Options {
	o.wrap = wrap
	return o
}
