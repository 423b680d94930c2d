package segmentstore

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/minio/minlz"
	"github.com/zeebo/xxh3"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Bounds of encoded changes. A change takes about 130 bytes of JSON, so a gigabyte holds
// eight million files, twice as many as the largest known repository.
const (
	MaxChanges             = 8 << 20
	MaxChangesBytes        = 1 << 30
	MaxEncodedChangesBytes = 512 << 20
)

const (
	changesMagic   = "QC\x01"
	changesSumSize = 8
	// maxExpansion bounds the compression ratio, so that a small hostile object cannot
	// make the decoder allocate a gigabyte. minlz reaches about 5 on JSON with 40
	// hexadecimal characters in each row.
	maxExpansion = 200
)

// EncodeChanges returns the changes encoded as an object, and the name of the object. The
// changes must be ordered by path without duplicates. Equal changes yield equal bytes.
func EncodeChanges(changes []event.Change) (name string, b []byte, err error) {
	if len(changes) > MaxChanges {
		return "", nil, fmt.Errorf("encode changes: %d, at most %d", len(changes), MaxChanges)
	}
	if err := validateChanges(changes); err != nil {
		return "", nil, fmt.Errorf("encode changes: %w", err)
	}
	text, err := appendChanges(make([]byte, 0, 160*len(changes)+2), changes)
	if err != nil {
		return "", nil, fmt.Errorf("encode changes: %w", err)
	}
	if len(text) > MaxChangesBytes {
		return "", nil, fmt.Errorf("encode changes: %d bytes, at most %d", len(text), MaxChangesBytes)
	}
	b = append(b, changesMagic...)
	b = binary.AppendUvarint(b, uint64(len(text)))
	b = binary.LittleEndian.AppendUint64(b, xxh3.Hash(text))
	if b, err = appendBlocks(b, text); err != nil {
		return "", nil, fmt.Errorf("encode changes: %w", err)
	}
	sum := xxh3.Hash128(b).Bytes()
	return ManifestName(hex.EncodeToString(sum[:])), b, nil
}

// appendBlocks appends text in blocks of at most minlz.MaxBlockSize, each preceded by its
// length.
func appendBlocks(b, text []byte) ([]byte, error) {
	for len(text) > 0 {
		n := min(len(text), minlz.MaxBlockSize)
		block, err := minlz.Encode(nil, text[:n], minlz.LevelBalanced)
		if err != nil {
			return nil, err
		}
		b = binary.AppendUvarint(b, uint64(len(block)))
		b, text = append(b, block...), text[n:]
	}
	return b, nil
}

// DecodeChanges decodes the output of EncodeChanges. It returns ErrCorrupt for anything
// else.
func DecodeChanges(b []byte) ([]event.Change, error) {
	text, err := changesText(b)
	if err != nil {
		return nil, fmt.Errorf("decode changes: %w: %w", ErrCorrupt, err)
	}
	changes, ok := parseChanges(text)
	if !ok {
		if err := json.Unmarshal(text, &changes); err != nil {
			return nil, fmt.Errorf("decode changes: %w: %w", ErrCorrupt, err)
		}
	}
	if err := validateChanges(changes); err != nil {
		return nil, fmt.Errorf("decode changes: %w: %w", ErrCorrupt, err)
	}
	return changes, nil
}

// changesText checks the frame and returns the JSON within it.
func changesText(b []byte) ([]byte, error) {
	if len(b) > MaxEncodedChangesBytes {
		return nil, fmt.Errorf("%d bytes, at most %d", len(b), MaxEncodedChangesBytes)
	}
	if len(b) < len(changesMagic) || string(b[:2]) != changesMagic[:2] {
		return nil, fmt.Errorf("no encoded changes")
	}
	if b[2] != changesMagic[2] {
		return nil, fmt.Errorf("format version %d, this program knows %d", b[2], changesMagic[2])
	}
	size, n := binary.Uvarint(b[3:])
	if n <= 0 || size > MaxChangesBytes || size > maxExpansion*uint64(len(b)) {
		return nil, fmt.Errorf("size %d in %d bytes", size, len(b))
	}
	b = b[3+n:]
	if len(b) < changesSumSize {
		return nil, fmt.Errorf("truncated")
	}
	sum, b := binary.LittleEndian.Uint64(b), b[changesSumSize:]
	text := make([]byte, 0, size)
	for len(b) > 0 {
		var err error
		if text, b, err = readBlock(text, b); err != nil {
			return nil, err
		}
	}
	if uint64(len(text)) != size || xxh3.Hash(text) != sum {
		return nil, fmt.Errorf("checksum differs")
	}
	return text, nil
}

// readBlock appends the first block of b to text, within the capacity of text.
func readBlock(text, b []byte) (_, rest []byte, err error) {
	length, n := binary.Uvarint(b)
	if n <= 0 || length > uint64(len(b)-n) {
		return nil, nil, fmt.Errorf("truncated block")
	}
	block, rest := b[n:n+int(length)], b[n+int(length):]
	size, err := minlz.DecodedLen(block)
	if err != nil {
		return nil, nil, err
	}
	if size <= 0 || size > cap(text)-len(text) {
		return nil, nil, fmt.Errorf("block of %d bytes behind %d of %d", size, len(text), cap(text))
	}
	if _, err := minlz.Decode(text[len(text):len(text)+size], block); err != nil {
		return nil, nil, err
	}
	return text[:len(text)+size], rest, nil
}

// validateChanges checks the properties on which readers of a manifest rely.
func validateChanges(changes []event.Change) error {
	if len(changes) > MaxChanges {
		return fmt.Errorf("%d changes, at most %d", len(changes), MaxChanges)
	}
	for i := range changes {
		c := &changes[i]
		if err := code.ValidatePath(c.Path); err != nil {
			return err
		}
		if i > 0 && changes[i-1].Path >= c.Path {
			return fmt.Errorf("path %.80q is not after its predecessor", c.Path)
		}
		if len(c.Language) > event.MaxLanguageBytes || len(c.Skipped) > event.MaxSkipBytes || c.SizeBytes < 0 {
			return fmt.Errorf("path %.80q: a field is out of bounds", c.Path)
		}
	}
	return nil
}
