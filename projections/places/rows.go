package places

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/projections/internal/accept"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// ErrCorrupt reports that a row is corrupted. The store must be rebuilt.
var ErrCorrupt = errors.New("corrupt row; rebuild with quarry replay")

// repositoryRow is the value of p R.
type repositoryRow struct {
	Repository code.Repository `json:"repository"`
	// Since is the position of the registration; its partition is that of the repository.
	Since event.Position `json:"since"`
	// NextManifest is the number of the next manifest, from 1.
	NextManifest uint32 `json:"nextManifest"`
}

// refRow is the value of p r. It stays, with an empty commit, after the ref is deleted.
type refRow struct {
	accept.Ref
	Manifest   uint32                  `json:"manifest,omitempty"`
	CommitTime time.Time               `json:"commitTime,omitzero"`
	IndexedAt  time.Time               `json:"indexedAt,omitzero"`
	PushedAt   time.Time               `json:"pushedAt,omitzero"`
	Files      int                     `json:"files,omitempty"`
	Skipped    map[code.SkipReason]int `json:"skipped,omitempty"`
}

// manifestRow is the value of p m.
type manifestRow struct {
	Version uint32 `json:"version"`
	// Parent and ParentVersion name the manifest to read if there is no entry; Parent is
	// 0 if there is none.
	Parent        uint32 `json:"parent,omitempty"`
	ParentVersion uint32 `json:"parentVersion,omitempty"`
	// Depth is the number of ancestors, at most MaxDepth.
	Depth int `json:"depth,omitempty"`
	// Deleted manifests belong to no ref and exist as long as they are pinned.
	Deleted bool `json:"deleted,omitempty"`
}

// segmentRow is the value of p S.
type segmentRow struct {
	ID        string `json:"id"`
	SizeBytes int64  `json:"sizeBytes"`
	TextBytes int64  `json:"textBytes"`
	Documents int    `json:"documents"`
	// Live counts the documents that are located here and whose count is above zero.
	Live      int   `json:"live"`
	LiveBytes int64 `json:"liveBytes"`
	// Absent segments were not in the segment store when their event was applied.
	Absent bool `json:"absent,omitempty"`
}

// pin records that the manifest child reads parent at version.
type pin struct{ parent, version, child uint32 }

// location is the location of a document. Sequence 0 means none.
type location struct {
	sequence uint32
	document segment.DocID
}

// documentRow is the value of p d: count, number of holders, and for each holder its
// sequence and document number, all as uvarints, ordered by sequence.
type documentRow struct {
	count   uint64
	holders []location
}

func (d *documentRow) firstHolder() location {
	if len(d.holders) == 0 {
		return location{}
	}
	return d.holders[0]
}

func (d *documentRow) append(b []byte) []byte {
	b = binary.AppendUvarint(b, d.count)
	b = binary.AppendUvarint(b, uint64(len(d.holders)))
	for _, h := range d.holders {
		b = binary.AppendUvarint(b, uint64(h.sequence))
		b = binary.AppendUvarint(b, uint64(h.document))
	}
	return b
}

func decodeDocumentRow(b []byte) (d documentRow, err error) {
	var fields [2]uint64
	if b, err = readUvarints(b, fields[:]); err != nil || fields[1] > uint64(len(b)) {
		return d, fmt.Errorf("document row: %w", ErrCorrupt)
	}
	d.count = fields[0]
	d.holders = make([]location, fields[1])
	for i := range d.holders {
		if b, err = readUvarints(b, fields[:]); err != nil || fields[0] > 1<<32-1 || fields[1] > 1<<32-1 {
			return d, fmt.Errorf("document row: %w", ErrCorrupt)
		}
		d.holders[i] = location{uint32(fields[0]), segment.DocID(fields[1])}
	}
	if len(b) != 0 {
		return d, fmt.Errorf("document row: %d bytes left: %w", len(b), ErrCorrupt)
	}
	return d, nil
}

// readUvarints decodes fields from b and returns the rest.
func readUvarints(b []byte, fields []uint64) ([]byte, error) {
	for i := range fields {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, ErrCorrupt
		}
		fields[i], b = v, b[n:]
	}
	return b, nil
}

// The kinds of entries: the first byte of the value.
const (
	entryTombstone = 0
	entryDocument  = 1
	entrySkipped   = 2
)

// entry is the value of p e: the content of a path.
//
//	tombstone   00
//	document    01 flags(1) size(uvarint) blob(20) language
//	skipped     02 flags(1) size(uvarint) reason
type entry struct {
	kind     byte
	flags    code.Flags
	size     int64
	document code.DocumentKey
	skipped  code.SkipReason
}

var tombstone = []byte{entryTombstone}

// entryOf returns the encoded entry of a change.
func entryOf(c *event.Change) []byte {
	if c.Skipped != "" {
		b := binary.AppendUvarint([]byte{entrySkipped, byte(c.Flags)}, uint64(c.SizeBytes))
		return append(b, c.Skipped...)
	}
	if c.Blob == (code.BlobID{}) {
		return tombstone
	}
	b := append(make([]byte, 0, 32+len(c.Language)), entryDocument, byte(c.Flags))
	b = binary.AppendUvarint(b, uint64(c.SizeBytes))
	return append(append(b, c.Blob[:]...), c.Language...)
}

// decodeEntry decodes a value; an empty one is a tombstone.
func decodeEntry(b []byte) (e entry, err error) {
	if len(b) == 0 || b[0] == entryTombstone && len(b) == 1 {
		return entry{}, nil
	}
	if len(b) < 3 || b[0] > entrySkipped {
		return e, fmt.Errorf("entry: %w", ErrCorrupt)
	}
	var size [1]uint64
	rest, err := readUvarints(b[2:], size[:])
	if err != nil || size[0] > 1<<62 {
		return e, fmt.Errorf("entry: %w", ErrCorrupt)
	}
	e = entry{kind: b[0], flags: code.Flags(b[1]), size: int64(size[0])}
	if e.kind == entrySkipped {
		e.skipped = code.SkipReason(rest)
		return e, nil
	}
	if e.kind != entryDocument || len(rest) < blobLen {
		return e, fmt.Errorf("entry: %w", ErrCorrupt)
	}
	e.document = code.DocumentKey{Blob: code.BlobID(rest), Language: code.Language(rest[blobLen:])}
	return e, nil
}

func readRow(r store.Reader, key []byte, row any) (bool, error) {
	value, ok, err := r.Read(key)
	if err != nil || !ok {
		return false, err
	}
	if err := json.Unmarshal(value, row); err != nil {
		return false, fmt.Errorf("places: row %q: %w: %w", key, ErrCorrupt, err)
	}
	return true, nil
}

func writeRow(b *store.Batch, key []byte, row any) error {
	value, err := json.Marshal(row)
	if err != nil {
		return fmt.Errorf("places: row %q: %w", key, err)
	}
	return b.Set(key, value)
}
