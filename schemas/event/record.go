package event

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Topic names a stream of records.
type Topic string

// The topics of the system.
const (
	TopicEvents      Topic = "quarry.events"
	TopicDeadLetters Topic = "quarry.deadletters"
	// TopicAccounts and TopicAudit have one partition each, which puts all their events
	// in one order.
	TopicAccounts Topic = "quarry.accounts"
	TopicAudit    Topic = "quarry.audit"
)

// Single reports whether the topic has only one partition, whatever the number of
// partitions of other topics.
func (t Topic) Single() bool { return t == TopicAccounts || t == TopicAudit }

// Trimmable reports whether the beginning of the topic may be deleted. All other topics
// are kept completely, because all state is rebuilt from them.
func (t Topic) Trimmable() bool { return t == TopicAudit }

// KeptWhole reports whether state is lost without the beginning of the topic. Of other topics,
// brokers may delete the beginning, and readers continue with the rest.
func (t Topic) KeptWhole() bool { return t == TopicEvents || t == TopicAccounts }

// Offset is the place of a record in its partition, from 0 upwards. Offsets increase, but
// may have gaps.
type Offset int64

// Position is the place of a record in the log.
type Position struct {
	Topic     Topic  `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    Offset `json:"offset"`
}

// String returns "topic/partition/offset".
func (p Position) String() string {
	return fmt.Sprintf("%s/%d/%d", p.Topic, p.Partition, p.Offset)
}

// LogPosition is what a reader must see: the records below Next, and the full effect of
// Events.
type LogPosition struct {
	// Next is the next offset of each partition; nil for none.
	Next []Offset
	// Events are at most MaxAwaited.
	Events []Position
}

// MaxAwaited bounds the events of a LogPosition. It is more than one delivery of a webhook
// has.
const MaxAwaited = 1024

// ParsePosition parses the output of String.
func ParsePosition(s string) (Position, error) {
	topic, rest, _ := strings.Cut(s, "/")
	left, right, _ := strings.Cut(rest, "/")
	partition, err1 := strconv.ParseUint(left, 10, 31)
	offset, err2 := strconv.ParseUint(right, 10, 63)
	if topic == "" || err1 != nil || err2 != nil {
		return Position{}, fmt.Errorf("position %.80q: want topic/partition/offset", s)
	}
	return Position{Topic: Topic(topic), Partition: int32(partition), Offset: Offset(offset)}, nil
}

// Header is a name and value attached to a record, as in Kafka.
type Header struct {
	Name  string
	Value []byte
}

// Record is one entry of the log as it is stored: an encoded event with its
// envelope.
type Record struct {
	// Position is set by the log when the record is read or acknowledged.
	Position Position
	// Key orders records: those with equal keys share a partition.
	Key []byte
	// Value is the encoded event; Headers hold the CloudEvents attributes.
	Value   []byte
	Headers []Header
	// Time is the time when the record was appended to the log.
	Time time.Time
}

// SizeBytes returns the size of key, value and headers, to which the bounds of records
// apply.
func (r *Record) SizeBytes() int {
	n := len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += len(h.Name) + len(h.Value)
	}
	return n
}
