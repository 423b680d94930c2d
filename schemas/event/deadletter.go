package event

import "strconv"

// Headers of a dead letter, beside those of the record itself.
const (
	HeaderDeadPosition = "quarry-dead-position" // topic/partition/offset of the record
	HeaderDeadReason   = "quarry-dead-reason"
	HeaderDeadSource   = "quarry-dead-source" // the stage that gave up
	HeaderDeadAttempts = "quarry-dead-attempts"
)

// maxReasonBytes bounds the reason of a dead letter. What is added to a record
// stays below the room that MaxValueBytes leaves in a record of the log.
const maxReasonBytes = 2 << 10

// DeadLetter returns the record that is put to TopicDeadLetters for a record that
// a stage gave up on: its key, value and headers, and why, where and after how
// many attempts. What would not fit into a record any more is left out, the
// value first, then key and headers: the position tells where they are. The
// letter shares memory with rec.
func DeadLetter(rec Record, source string, attempts int, reason error) Record {
	text := reason.Error()
	added := []Header{
		{HeaderDeadPosition, []byte(rec.Position.String())},
		{HeaderDeadReason, []byte(text[:min(len(text), maxReasonBytes)])},
		{HeaderDeadSource, []byte(source)},
		{HeaderDeadAttempts, strconv.AppendInt(nil, int64(attempts), 10)},
	}
	letter := Record{Key: rec.Key, Value: rec.Value, Headers: append(append([]Header(nil), rec.Headers...), added...)}
	if letter.SizeBytes() > MaxValueBytes {
		letter.Value = nil
	}
	if letter.SizeBytes() > MaxValueBytes {
		letter.Key, letter.Headers = nil, added
	}
	return letter
}
