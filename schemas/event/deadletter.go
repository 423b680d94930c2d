package event

import (
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/schemas/failure"
)

// Headers that a dead letter has in addition to those of the original record.
const (
	HeaderDeadPosition = "quarry-dead-position" // topic/partition/offset of the record
	HeaderDeadReason   = "quarry-dead-reason"   // why, masked by failure.Clean
	HeaderDeadCode     = "quarry-dead-code"     // a failure.Code; absent in old letters
	HeaderDeadSource   = "quarry-dead-source"   // the stage that gave up
	HeaderDeadAttempts = "quarry-dead-attempts"
)

// Headers of a resolution: a record of TopicDeadLetters, in the partition of the
// letter and with its key, that says what happened to it. It has no value.
const (
	HeaderResolvedPosition = "quarry-resolved-position" // of the letter
	HeaderResolution       = "quarry-resolution"        // a Resolution
	HeaderResolvedAt       = "quarry-resolved-at"       // RFC 3339
	HeaderResolvedBy       = "quarry-resolved-by"       // position of the event that took its place
	HeaderResolvedReason   = "quarry-resolved-reason"
)

// HeaderReplayOf is a header of an event that takes the place of a dead letter:
// the letter's position.
const HeaderReplayOf = "quarry-replay-of"

// Resolution says what happened to a dead letter.
type Resolution string

// What can happen to a dead letter.
const (
	LetterReplayed Resolution = "replayed"
	LetterDropped  Resolution = "dropped"
)

// Resolve returns the record that resolves the letter at a position: to be
// appended to the letter's partition. by is the event that took its place, if one
// did. It is harmless a second time.
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

// Resolved returns the position of the letter that a record resolves, and whether
// it is a resolution.
func Resolved(rec Record) (Position, bool) {
	value := headerOf(rec, HeaderResolvedPosition)
	if value == nil {
		return Position{}, false
	}
	at, err := ParsePosition(string(value))
	return at, err == nil
}

// Letter is what the headers of a dead letter say.
type Letter struct {
	// Of is the record that was given up; the zero Position if the headers do not
	// say.
	Of Position
	// Stage gave up, after so many Attempts, for this Reason, without credentials.
	Stage, Reason string
	// Code is the kind of the failure; empty if the headers do not say.
	Code     failure.Code
	Attempts int
}

// ReadLetter returns what the headers of a dead letter say, as far as they say it.
func ReadLetter(rec Record) Letter {
	// Letters of old versions hold what git said as it said it.
	l := Letter{Stage: string(headerOf(rec, HeaderDeadSource)), Reason: failure.Clean(string(headerOf(rec, HeaderDeadReason)), maxReasonBytes)}
	if code := headerOf(rec, HeaderDeadCode); code != nil {
		l.Code = failure.Parse(string(code))
	}
	l.Of, _ = ParsePosition(string(headerOf(rec, HeaderDeadPosition))) // the zero Position says that it is none
	l.Attempts, _ = strconv.Atoi(string(headerOf(rec, HeaderDeadAttempts)))
	return l
}

// Original returns the record of a dead letter as it was: its key, value and
// headers, without those that were added, and its position. What did not fit into
// the letter is missing.
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

// maxReasonBytes bounds the reason of a dead letter. What is added to a record
// stays below the room that MaxValueBytes leaves in a record of the log.
const maxReasonBytes = 2 << 10

// DeadLetter returns the record that is written to TopicDeadLetters for a record
// that a stage gave up on: its key, value and headers, and why, where and after how
// many attempts. Credentials are removed from the reason. Parts that do not fit
// into a record are left out, the value first, then key and headers: the position
// says where to find them. The letter shares memory with rec.
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
