package event

import (
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/schemas/failure"
)

// Headers that a dead letter adds to those of the original record.
const (
	HeaderDeadPosition = "quarry-dead-position" // topic/partition/offset of the record
	HeaderDeadReason   = "quarry-dead-reason"   // the reason, masked by failure.Clean
	HeaderDeadCode     = "quarry-dead-code"     // a failure.Code; absent in old dead letters
	HeaderDeadSource   = "quarry-dead-source"   // the stage that gave up the record
	HeaderDeadAttempts = "quarry-dead-attempts"
)

// Headers of a resolution: a record of TopicDeadLetters, in the partition of the dead
// letter and with its key, that reports what happened to the dead letter. It has no
// value.
const (
	HeaderResolvedPosition = "quarry-resolved-position" // of the dead letter
	HeaderResolution       = "quarry-resolution"        // a Resolution
	HeaderResolvedAt       = "quarry-resolved-at"       // RFC 3339
	HeaderResolvedBy       = "quarry-resolved-by"       // position of the event that replaces the record
	HeaderResolvedReason   = "quarry-resolved-reason"
)

// HeaderReplayOf is a header of an event that replaces a dead letter: the position of the
// dead letter.
const HeaderReplayOf = "quarry-replay-of"

// Resolution is the way in which a dead letter was resolved.
type Resolution string

// The possible resolutions of a dead letter.
const (
	LetterReplayed Resolution = "replayed"
	LetterDropped  Resolution = "dropped"
	// LetterSuperseded means that a later event of the repository did the work.
	LetterSuperseded Resolution = "superseded"
)

// Resolve returns a record that resolves the dead letter at a position. The caller must
// append it to the partition of the dead letter. by is the event that replaces the
// record, if any. Appending the record twice is harmless.
func Resolve(letter Record, what Resolution, by *Position, at time.Time, reason string) Record {
	rec := Record{Key: letter.Key, Headers: []Header{
		{HeaderResolvedPosition, []byte(letter.Position.String())},
		{HeaderResolution, []byte(what)},
		{HeaderResolvedAt, at.UTC().AppendFormat(nil, time.RFC3339Nano)},
	}}
	if by != nil {
		rec.Headers = append(rec.Headers, Header{HeaderResolvedBy, []byte(by.String())})
	}
	if reason != "" {
		rec.Headers = append(rec.Headers, Header{HeaderResolvedReason, []byte(failure.Clean(reason, maxReasonBytes))})
	}
	return rec
}

// Resolved returns the position of the dead letter that rec resolves, and reports whether
// rec is a resolution.
func Resolved(rec Record) (Position, bool) {
	value := headerOf(rec, HeaderResolvedPosition)
	if value == nil {
		return Position{}, false
	}
	at, err := ParsePosition(string(value))
	return at, err == nil
}

// Letter holds the headers of a dead letter.
type Letter struct {
	// Of is the position of the record that was given up; zero if the headers do not name
	// it.
	Of Position
	// Stage gave up the record after Attempts tries because of Reason, which contains no
	// credentials.
	Stage, Reason string
	// Code is the kind of failure; empty if the headers do not name it.
	Code     failure.Code
	Attempts int
}

// ReadLetter returns the headers of a dead letter. Fields whose header is missing stay
// empty.
func ReadLetter(rec Record) Letter {
	// Dead letters of old versions contain git's output unmasked.
	l := Letter{Stage: string(headerOf(rec, HeaderDeadSource)), Reason: failure.Clean(string(headerOf(rec, HeaderDeadReason)), maxReasonBytes)}
	if code := headerOf(rec, HeaderDeadCode); code != nil {
		l.Code = failure.Parse(string(code))
	}
	l.Of, _ = ParsePosition(string(headerOf(rec, HeaderDeadPosition))) // an unreadable position leaves the zero Position
	l.Attempts, _ = strconv.Atoi(string(headerOf(rec, HeaderDeadAttempts)))
	return l
}

// Original returns the original record of a dead letter: its position, key, value and
// headers, without the added headers. Parts that did not fit into the dead letter are
// missing.
func Original(letter Record) Record {
	rec := Record{Position: ReadLetter(letter).Of, Key: letter.Key, Value: letter.Value, Time: letter.Time}
	for _, h := range letter.Headers {
		switch h.Name {
		case HeaderDeadPosition, HeaderDeadReason, HeaderDeadCode, HeaderDeadSource, HeaderDeadAttempts:
		default:
			rec.Headers = append(rec.Headers, h)
		}
	}
	return rec
}

// maxReasonBytes bounds the reason of a dead letter. The parts added to a record must fit
// into the room that MaxValueBytes leaves in a record of the log.
const maxReasonBytes = 2 << 10

// DeadLetter returns the record to write to TopicDeadLetters for a record that a stage
// gave up: its key, value and headers, and the stage, the reason and the number of
// attempts. Credentials are removed from the reason. Parts that do not fit into a record
// are omitted, first the value, then key and headers; the position tells readers where to
// find them. The result shares memory with rec.
func DeadLetter(rec Record, source string, attempts int, reason error) Record {
	added := []Header{
		{HeaderDeadPosition, []byte(rec.Position.String())},
		{HeaderDeadReason, []byte(failure.Clean(reason.Error(), maxReasonBytes))},
		{HeaderDeadCode, []byte(failure.CodeOf(reason))},
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
