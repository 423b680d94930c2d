package deliveries

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	kindEntry    = 'e'
	kindPush     = 'p'
	kindOpen     = 'o'
	kindRef      = 'r'
	kindKnown    = 'k'
	kindByID     = 'i'
	kindCounters = 'n'
)

// entryRow is the value of d e.
type entryRow struct {
	Source     string            `json:"source"`
	Connection string            `json:"connection,omitempty"`
	DeliveryID string            `json:"deliveryId,omitempty"`
	BodySHA256 string            `json:"bodySha256,omitempty"`
	Repository code.RepositoryID `json:"repository,omitempty"`
	ReceivedAt time.Time         `json:"receivedAt"`
	LoggedAt   time.Time         `json:"loggedAt"`
	Pushes     int               `json:"pushes,omitempty"`
	FirstRef   code.Ref          `json:"firstRef,omitempty"`
	Last       event.Offset      `json:"last"` // of its last push
	Duplicates *duplicates       `json:"duplicates,omitempty"`
	Outcome    string            `json:"outcome,omitempty"` // of a delivery without a push
	Reason     string            `json:"reason,omitempty"`
	Of         *event.Position   `json:"of,omitempty"`
	Suppressed int64             `json:"suppressed,omitempty"`
}

// duplicates counts the repetitions of a delivery.
type duplicates struct {
	Count int64     `json:"count"`
	Last  time.Time `json:"last"`
}

// pushRow is the value of d p.
type pushRow struct {
	Entry      event.Offset      `json:"entry"`
	Repository code.RepositoryID `json:"repository"`
	Ref        code.Ref          `json:"ref,omitempty"`
	Before     code.CommitID     `json:"before,omitempty"`
	After      code.CommitID     `json:"after,omitempty"`
	Action     event.Action      `json:"action"`
	// Answer is nil while the push waits.
	Answer *answer `json:"answer,omitempty"`
}

// answer is the outcome of a push.
type answer struct {
	Outcome string        `json:"outcome"`
	Commit  code.CommitID `json:"commit,omitempty"`
	// Changes counts the changed paths; absent if the changes are in an object.
	Changes   *int `json:"changes,omitempty"`
	Documents int  `json:"documents,omitempty"`
	Segments  int  `json:"segments,omitempty"`
	// Cause is the offset of the push that was indexed, Answered that of the event with
	// the outcome.
	Cause    event.Offset `json:"cause,omitempty"`
	Answered event.Offset `json:"answered"`
	// DoneAt is by the worker's clock, LoggedAt by the log's.
	DoneAt   time.Time `json:"doneAt"`
	LoggedAt time.Time `json:"loggedAt"`
}

// countersRow is the value of d n.
type countersRow struct {
	// Pushes is the weight of all entries of the partition.
	Pushes int `json:"pushes"`
	// Waiting counts the pushes without an answer.
	Waiting int `json:"waiting"`
	// Oldest is at or before the first entry. Starting there avoids skipping over removed
	// rows.
	Oldest event.Offset `json:"oldest"`
}

// refRow is the value of d r: the range in which pushes of a ref may wait. With it, a
// scan skips each removed row at most once, however many pushes a ref has; an iterator
// over all would skip those of a busy ref on every push.
type refRow struct {
	// from is at or before the first waiting push, last is the latest push.
	from, last event.Offset
}

func refKey(partition int32, id code.RepositoryID, ref code.Ref) []byte {
	return append(store.AppendUint64(keyPrefix(kindRef, partition), uint64(id)), ref...)
}

func readRef(r store.Reader, key []byte) (row refRow, found bool, err error) {
	value, ok, err := r.Read(key)
	if err != nil || !ok {
		return row, false, err
	}
	if len(value) != 16 {
		return row, false, fmt.Errorf("deliveries: row %q has %d bytes, want 16", key, len(value))
	}
	row.from, row.last = event.Offset(binary.BigEndian.Uint64(value)), event.Offset(binary.BigEndian.Uint64(value[8:]))
	return row, true, nil
}

func writeRef(b *store.Batch, key []byte, row refRow) error {
	return b.Set(key, store.AppendUint64(store.AppendUint64(nil, uint64(row.from)), uint64(row.last)))
}

func keyPrefix(kind byte, partition int32) []byte {
	return store.AppendUint32([]byte{byte(store.FamilyDeliveries), kind}, uint32(partition))
}

func offsetKey(kind byte, partition int32, at event.Offset) []byte {
	return store.AppendUint64(keyPrefix(kind, partition), uint64(at))
}

// keyOffset decodes the offset at the end of a key.
func keyOffset(key []byte) event.Offset {
	return event.Offset(binary.BigEndian.Uint64(key[len(key)-8:]))
}

func keyPartition(key []byte) int32 { return int32(binary.BigEndian.Uint32(key[2:])) }

// openPrefix returns the key prefix of the waiting pushes of a ref. A ref contains no
// zero byte.
func openPrefix(partition int32, id code.RepositoryID, ref code.Ref) []byte {
	return append(append(store.AppendUint64(keyPrefix(kindOpen, partition), uint64(id)), ref...), 0)
}

func openKey(partition int32, id code.RepositoryID, ref code.Ref, at event.Offset) []byte {
	return store.AppendUint64(openPrefix(partition, id, ref), uint64(at))
}

// hashBytes is the length of hashes in keys. A collision among the stored deliveries
// would merge two entries, but is less likely than a broken disk.
const hashBytes = 8

// knownPrefix returns the key prefix of the deliveries of a connection with one ID,
// whatever their bodies.
func knownPrefix(partition int32, connection, deliveryID string) []byte {
	sum := sha256.Sum256([]byte(connection + "\x00" + deliveryID))
	return append(keyPrefix(kindKnown, partition), sum[:hashBytes]...)
}

func knownKey(partition int32, connection, deliveryID, body string, ref code.Ref) []byte {
	sum := sha256.Sum256([]byte(body))
	return append(append(knownPrefix(partition, connection, deliveryID), sum[:hashBytes]...), ref...)
}

// byIDPrefix returns the key prefix of the entries with a delivery ID, of any connection.
func byIDPrefix(partition int32, deliveryID string) []byte {
	sum := sha256.Sum256([]byte(deliveryID))
	return append(keyPrefix(kindByID, partition), sum[:hashBytes]...)
}

func byIDKey(partition int32, deliveryID string, at event.Offset) []byte {
	return store.AppendUint64(byIDPrefix(partition, deliveryID), uint64(at))
}

// readRow reads the row at key into row and reports whether there is one.
func readRow(r store.Reader, key []byte, row any) (bool, error) {
	value, ok, err := r.Read(key)
	if err != nil || !ok {
		return false, err
	}
	return true, decodeRow(key, value, row)
}

func decodeRow(key, value []byte, row any) error {
	if err := json.Unmarshal(value, row); err != nil {
		return fmt.Errorf("deliveries: row %q: %w", key, err)
	}
	return nil
}

func writeRow(b *store.Batch, key []byte, row any) error {
	value, err := json.Marshal(row)
	if err != nil {
		return fmt.Errorf("deliveries: row %q: %w", key, err)
	}
	return b.Set(key, value)
}

// readOffset reads a row that contains an offset.
func readOffset(r store.Reader, key []byte) (event.Offset, bool, error) {
	value, ok, err := r.Read(key)
	if err != nil || !ok {
		return 0, false, err
	}
	if len(value) != 8 {
		return 0, false, fmt.Errorf("deliveries: row %q has %d bytes, want 8", key, len(value))
	}
	return event.Offset(binary.BigEndian.Uint64(value)), true, nil
}

func writeOffset(b *store.Batch, key []byte, at event.Offset) error {
	return b.Set(key, binary.BigEndian.AppendUint64(nil, uint64(at)))
}
