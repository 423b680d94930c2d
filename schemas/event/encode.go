package event

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/failure"
)

// Errors of Encode and Decode, wrapped with the event's type or position.
var (
	// ErrInvalid reports that an event or a record breaks a rule of its format.
	ErrInvalid = failure.New(failure.Unreadable, "invalid event")
	// ErrUnknownType reports that this build does not know a record's type, or its
	// version. The workers write such a record to the dead letters (ForWorkers); all
	// other readers skip it.
	ErrUnknownType = failure.New(failure.Unreadable, "unknown event type")
	// ErrTooLarge reports that an encoded event exceeds MaxValueBytes. A producer of
	// RevisionIndexed then moves the changes to a manifest object.
	ErrTooLarge = errors.New("event is too large")
)

// MaxValueBytes bounds an encoded event. With key and headers, it stays below the log's
// bound for a record.
const MaxValueBytes = 960 << 10

// Envelope holds the CloudEvents attributes of an event.
type Envelope struct {
	// ID is unique among the events of Source, and stays the same if the event is written
	// again, so that readers can drop duplicates. 1 to MaxIDBytes.
	ID string
	// Source names the component that wrote the event, as a URI reference such as
	// "/ingest/github". 1 to MaxSourceBytes.
	Source string
	Type   Type
	// Time is when the event occurred.
	Time time.Time
	// Subject is "repository/ID", "partition/N" or "connection/NAME"; for accounts,
	// "user/ID", "invitation/ID", "token/ID", "repository/ID", "activity" or "numbers";
	// for the audit log, "audit".
	Subject string
}

// Names of the headers, from the Kafka binding of CloudEvents in binary content mode.
const (
	headerSpecVersion = "ce_specversion"
	headerID          = "ce_id"
	headerSource      = "ce_source"
	headerType        = "ce_type"
	headerTime        = "ce_time"
	headerSubject     = "ce_subject"
	headerContentType = "content-type"
)

// HeaderTrace is the header with the trace context of a record whose trace is sampled, as in
// W3C Trace Context. Events do not depend on it.
const HeaderTrace = "traceparent"

const (
	specVersion = "1.0"
	contentType = "application/json"
)

// Encode returns the record of ev: key, value and headers. env.Type and env.Subject are
// filled in from ev; env.ID must be deterministic if the event is derived from another
// (see DerivedID). It returns ErrInvalid if ev breaks a rule of its format, and
// ErrTooLarge if the event exceeds MaxValueBytes.
func Encode(env Envelope, ev Event) (Record, error) {
	if ev == nil {
		return Record{}, fmt.Errorf("encode event: %w: no event", ErrInvalid)
	}
	env.Type, env.Subject = ev.EventType(), subjectOf(ev)
	if err := validateEvent(env, ev); err != nil {
		return Record{}, fmt.Errorf("encode %s: %w: %w", env.Type, ErrInvalid, err)
	}
	value, err := encodeValue(ev)
	if err != nil {
		return Record{}, fmt.Errorf("encode %s: %w: %w", env.Type, ErrInvalid, err)
	}
	if len(value) > MaxValueBytes {
		return Record{}, fmt.Errorf("encode %s: %w: %d bytes, at most %d", env.Type, ErrTooLarge, len(value), MaxValueBytes)
	}
	return Record{Key: RecordKey(ev.Key()), Value: value, Headers: headersOf(env)}, nil
}

// encodeValue encodes v as one JSON object without a final line feed. It does not escape
// the characters that are special in HTML, because people read the log.
func encodeValue(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

func headersOf(env Envelope) []Header {
	return []Header{
		{headerSpecVersion, []byte(specVersion)},
		{headerID, []byte(env.ID)},
		{headerSource, []byte(env.Source)},
		{headerType, []byte(env.Type)},
		{headerTime, env.Time.UTC().AppendFormat(nil, time.RFC3339Nano)},
		{headerSubject, []byte(env.Subject)},
		{headerContentType, []byte(contentType)},
	}
}

// subjectOf returns the subject of an event.
func subjectOf(ev Event) string {
	if subject := definitions[ev.EventType()].subject; subject != nil {
		return subject(ev)
	}
	return "repository/" + ev.Key().String()
}

// RecordKey returns the key of the records of a repository: its ID in decimal. It returns
// nil for ID 0, the key of events of a whole partition.
func RecordKey(id code.RepositoryID) []byte {
	if id == 0 {
		return nil
	}
	return strconv.AppendUint(nil, uint64(id), 10)
}

// RepositoryOfKey returns the repository that a record's key names, and reports whether
// it names one.
func RepositoryOfKey(key []byte) (code.RepositoryID, bool) {
	id, err := strconv.ParseUint(string(key), 10, 52)
	return code.RepositoryID(id), err == nil && id > 0
}

// maxStepBytes bounds a step that DerivedID includes literally.
const maxStepBytes = 64

// DerivedID returns the ID of the event that step derives from the record at cause. The
// same step yields the same ID; a step that yields several events must distinguish them.
// A step that is long or contains characters other than printable ASCII, such as one with
// a ref in it, is replaced by its hash.
func DerivedID(cause Position, step string) string {
	printable := strings.IndexFunc(step, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
	if len(step) > maxStepBytes || !printable {
		sum := sha256.Sum256([]byte(step))
		step = hex.EncodeToString(sum[:16])
	}
	return cause.String() + "#" + step
}
