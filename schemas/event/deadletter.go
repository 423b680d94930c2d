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
// many attempts. A record whose value would not fit any more leaves the value
// out: its position tells where it is.
func DeadLetter(rec Record, source string, attempts int, reason error) Record {
	text := reason.Error()
	letter := Record{
		Key:   rec.Key,
		Value: rec.Value,
		Headers: append(append([]Header(nil), rec.Headers...),
			Header{HeaderDeadPosition, []byte(rec.Position.String())},
			Header{HeaderDeadReason, []byte(text[:min(len(text), maxReasonBytes)])},
			Header{HeaderDeadSource, []byte(source)},
			Header{HeaderDeadAttempts, strconv.AppendInt(nil, int64(attempts), 10)}),
	}
	size := len(letter.Key) + len(letter.Value)
	for _, h := range letter.Headers {
		size += len(h.Name) + len(h.Value)
	}
	if size > MaxValueBytes {
		letter.Value = nil
	}
	return letter
}
