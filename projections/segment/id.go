package segment

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
)

// Errors of this package.
var (
	// ErrCorrupt reports that stored bytes are corrupted.
	ErrCorrupt = errors.New("corrupt segment")
	// ErrFull reports that a document does not fit into a Builder's segment.
	ErrFull = errors.New("segment is full")
	// ErrFormat reports that this program does not know the format version of a segment.
	ErrFormat = errors.New("unknown segment format")
)

// ID identifies a segment by its content.
type ID [16]byte

// DocID is the number of a document in its segment, from 0.
type DocID uint32

// String returns the ID as 32 hexadecimal characters.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// ParseID parses the output of String.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) != 2*len(id) {
		return id, fmt.Errorf("segment ID %.40q: want %d hexadecimal characters", s, 2*len(id))
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil {
		return id, fmt.Errorf("segment ID %.40q: %w", s, err)
	}
	return id, nil
}

// KeyPrefix is the first byte of every key of every segment.
const KeyPrefix = 's'

// The parts of a segment, as they appear in its keys. Their order is the order of
// the keys in the table.
const (
	partDocuments   = 'd'
	partFrame       = 'f'
	partGrams       = 'g'
	partHeader      = 'h'
	partKeys        = 'k'
	partDefinitions = 'n'
	partPage        = 'p'
	partRuns        = 'r'
	partDirectory   = 't'
	partSymbols     = 'y'
)

const partAt = 1 + len(ID{})

func partKey(id ID, part byte) []byte {
	return appendPartKey(make([]byte, 0, partAt+5), id, part)
}

func appendPartKey(dst []byte, id ID, part byte) []byte {
	dst = append(dst, KeyPrefix)
	dst = append(dst, id[:]...)
	return append(dst, part)
}

func numberedKey(id ID, part byte, n uint32) []byte {
	return binary.BigEndian.AppendUint32(partKey(id, part), n)
}

// KeyRange returns the bounds of a segment's keys: lo ≤ key < hi.
func KeyRange(id ID) (lo, hi []byte) { return partKey(id, 0), partKey(id, 0xff) }

// IDOfKey returns the ID of the segment to which a key with KeyPrefix belongs.
func IDOfKey(key []byte) (ID, bool) {
	if len(key) < partAt || key[0] != KeyPrefix {
		return ID{}, false
	}
	return ID(key[1:partAt]), true
}
