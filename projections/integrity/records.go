package integrity

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrDamaged reports that the content of a file differs from what was written.
var ErrDamaged = errors.New("damaged file")

// maxRecordsBytes bounds the size of a manifest or write-ahead log. Pebble starts a new
// file far below it.
const maxRecordsBytes = 1 << 30

// CheckRecords checks the current manifest and the write-ahead logs of the Pebble store
// in dir, which must be closed. It returns ErrDamaged with the path of the first damaged
// file. A directory without a store is not damaged.
func CheckRecords(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	manifest, newest := "", uint64(0)
	for _, e := range entries {
		rest, found := strings.CutPrefix(e.Name(), "marker.manifest.")
		number, name, _ := strings.Cut(rest, ".")
		if n, err := strconv.ParseUint(number, 10, 64); found && err == nil && n >= newest {
			manifest, newest = name, n
		}
	}
	if manifest != "" {
		if err := checkRecordFile(filepath.Join(dir, manifest), 0); err != nil {
			return err
		}
	}
	for _, e := range entries {
		number, found := strings.CutSuffix(e.Name(), ".log")
		if n, err := strconv.ParseUint(number, 10, 64); found && err == nil {
			if err := checkRecordFile(filepath.Join(dir, e.Name()), uint32(n)); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkRecordFile(path string, number uint32) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // Pebble reports what is missing
	}
	if err == nil && info.Size() > maxRecordsBytes {
		err = fmt.Errorf("%d bytes, at most %d", info.Size(), int64(maxRecordsBytes))
	}
	var b []byte
	if err == nil {
		b, err = os.ReadFile(path)
	}
	if err != nil {
		return fmt.Errorf("check %s: %w", path, err)
	}
	if at, ok := checkRecords(b, number); !ok {
		return fmt.Errorf("%w: %s: the checksum of the record at byte %d differs", ErrDamaged, path, at)
	}
	return nil
}

// Layout of record files: blocks of recordBlockBytes that contain chunks of CRC (4),
// length of the payload (2), encoding (1), in logs the number of the log (4), in newer
// ones the previously synced offset (8), payload.
const (
	recordBlockBytes = 32 << 10
	// laterBytes bounds the search for a chunk after an invalid one.
	laterBytes = 2 * recordBlockBytes

	legacyHeader     = 7
	recyclableHeader = 11
	syncHeader       = 19
)

// chunk is one chunk of a record file.
type chunk struct {
	end    int    // offset within its block
	number uint32 // of the log; 0 in a manifest
	synced uint64 // offset that was synced when the chunk was written; 0 if unknown
}

// checkRecords returns the offset of the first damaged chunk, or ok if there is none.
func checkRecords(b []byte, number uint32) (at int, ok bool) {
	for start := 0; start < len(b); start += recordBlockBytes {
		block := b[start:min(start+recordBlockBytes, len(b))]
		for at := 0; at+legacyHeader <= len(block); {
			c, valid := parseChunk(block, at)
			switch {
			case valid && c.number == number:
				at = c.end
			case valid && c.number == number+1 && c.end == at+headerBytes(block[at+6]):
				return 0, true // the end of the log
			case len(block) == recordBlockBytes && at+syncHeader > len(block) && allZero(block[at:]):
				at = len(block)
			default:
				return start + at, !isDamaged(b, start, at, number)
			}
		}
	}
	return 0, true
}

// headerBytes returns the size of a chunk's header, or 0 for an unknown encoding.
func headerBytes(encoding byte) int {
	switch {
	case encoding >= 1 && encoding <= 4:
		return legacyHeader
	case encoding >= 5 && encoding <= 8:
		return recyclableHeader
	case encoding >= 9 && encoding <= 12:
		return syncHeader
	}
	return 0
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskedSum returns the checksum of a chunk.
func maskedSum(b []byte) uint32 {
	return bits.RotateLeft32(crc32.Checksum(b, castagnoli), -15) + 0xa282ead8
}

// parseChunk returns the chunk at an offset of a block, and reports whether it is intact.
func parseChunk(block []byte, at int) (chunk, bool) {
	c, ok := parseHeader(block, at)
	return c, ok && binary.LittleEndian.Uint32(block[at:]) == maskedSum(block[at+6:c.end])
}

// parseHeader returns the fields of a header, and reports whether the chunk fits into its
// block.
func parseHeader(block []byte, at int) (c chunk, ok bool) {
	if at+legacyHeader > len(block) {
		return c, false
	}
	size := headerBytes(block[at+6])
	c.end = at + size + int(binary.LittleEndian.Uint16(block[at+4:]))
	if size == 0 || c.end > len(block) {
		return c, false
	}
	if size >= recyclableHeader {
		c.number = binary.LittleEndian.Uint32(block[at+7:])
	}
	if size == syncHeader {
		c.synced = binary.LittleEndian.Uint64(block[at+11:])
	}
	return c, true
}

// isDamaged reports whether the invalid chunk at an offset of the block at start was once
// complete, and not just left unfinished by a crash.
func isDamaged(b []byte, start, at int, number uint32) bool {
	if allZero(b[start+at:]) {
		return false
	}
	if hasLaterChunk(b, start, at, number) {
		return true
	}
	turned, end, found := findTurnedBit(b[start:min(start+recordBlockBytes, len(b))], at, number)
	// If a file with reserved space has only zeros from there to its end, the chunk is
	// torn.
	return found && (start+end == len(b) || !allZero(b[start+turned:]))
}

// hasLaterChunk reports whether a chunk after the invalid one proves that the invalid one
// was written. In a log, the later chunk says so. In a manifest, its existence is enough,
// because manifests are written in order and synced each time.
func hasLaterChunk(b []byte, start, at int, number uint32) bool {
	for next := start + at + 1; next < min(start+at+laterBytes, len(b)); next++ {
		begin := next / recordBlockBytes * recordBlockBytes
		block := b[begin:min(begin+recordBlockBytes, len(b))]
		c, ok := parseHeader(block, next-begin)
		if !ok || c.number != number || number > 0 && c.synced <= uint64(start+at) {
			continue
		}
		if _, ok := parseChunk(block, next-begin); ok {
			return true
		}
	}
	return false
}

// findTurnedBit returns the offset of the one byte in which a flipped bit explains the
// checksum mismatch, and the end of the chunk.
func findTurnedBit(block []byte, at int, number uint32) (turned, end int, found bool) {
	header := block[at:min(at+syncHeader, len(block))]
	for i := range 8 * len(header) {
		header[i/8] ^= 1 << (i % 8)
		c, ok := parseChunk(block, at)
		size := headerBytes(block[at+6])
		header[i/8] ^= 1 << (i % 8)
		if ok && c.number == number && c.end > at+size {
			return at + i/8, c.end, true
		}
	}
	c, ok := parseHeader(block, at)
	if !ok || c.number != number {
		return 0, 0, false
	}
	sum := bits.RotateLeft32(binary.LittleEndian.Uint32(block[at:])-0xa282ead8, 15)
	wrong := sum ^ crc32.Checksum(block[at+6:c.end], castagnoli)
	// A flipped bit changes the sum by a value that depends only on its distance
	// from the end: one step of the register for each byte after it.
	for bit := range 8 {
		change := castagnoli[1<<bit]
		for i := c.end - 1; i >= at+6; i-- {
			if change == wrong {
				return i, c.end, true
			}
			change = change>>8 ^ castagnoli[byte(change)]
		}
	}
	return 0, 0, false
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
