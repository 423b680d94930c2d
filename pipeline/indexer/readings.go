package indexer

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// A reading, the result of reading a blob, depends only on its content and on the class
// of its name. Readings are stored next to the mirror, for blobs that appear again in
// another ref, in a sorted file and in one that is appended to. Records have the form
//
//	blob(20) class(8) kind(1) generated(1) length(1) language or reason(37) CRC-32C(4)
//
// Records with a wrong checksum are ignored. The files are never synced: if they are
// lost, the blobs are read again.
const (
	readingBytes   = 72
	readingKeyLen  = 28
	readingNameLen = 37
	// readingsUnsorted plus a sixteenth of the sorted file is the size of appended
	// records at which both files are merged.
	readingsUnsorted = 256 << 10
	// maxReadings bounds the stored readings of a repository, at 72 bytes each; further
	// blobs are read again.
	maxReadings = 1_000_000
)

const (
	readingText    = 1
	readingSkipped = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// readingKey identifies a reading: a blob and a class of names.
type readingKey [readingKeyLen]byte

func keyOfReading(blob code.BlobID, class string) (k readingKey) {
	copy(k[:], blob[:])
	sum := sha256.Sum256([]byte(class))
	copy(k[20:], sum[:8])
	return k
}

// reading is the result of reading a blob: text in a language, or skipped for a reason.
type reading struct {
	analyze.Reading
	skipped code.SkipReason
}

func appendReading(b []byte, k readingKey, r reading) []byte {
	kind, name, generated := byte(readingText), string(r.Language), byte(0)
	if r.skipped != "" {
		kind, name = readingSkipped, string(r.skipped)
	}
	if r.Generated {
		generated = 1
	}
	if len(name) > readingNameLen {
		return b // the blob is read again
	}
	start := len(b)
	b = append(append(b, k[:]...), kind, generated, byte(len(name)))
	b = append(append(b, name...), make([]byte, readingNameLen-len(name))...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

func parseReading(b []byte) (r reading, ok bool) {
	if binary.BigEndian.Uint32(b[readingBytes-4:]) != crc32.Checksum(b[:readingBytes-4], castagnoli) {
		return r, false
	}
	kind, generated, n := b[readingKeyLen], b[readingKeyLen+1], int(b[readingKeyLen+2])
	if n > readingNameLen || kind != readingText && kind != readingSkipped {
		return r, false
	}
	name := string(b[readingKeyLen+3:][:n])
	if kind == readingSkipped {
		return reading{skipped: code.SkipReason(name)}, name != ""
	}
	return reading{Reading: analyze.Reading{Language: code.Language(name), Generated: generated == 1}}, true
}

// readings is the table of one mirror. It must be used by one goroutine at a time.
type readings struct {
	sorted, unsorted string
	// most is maxReadings except in tests.
	most int64
}

func readingsOf(m *mirror.Mirror) readings {
	return readings{m.File("readings"), m.File("readings.tail"), maxReadings}
}

// findReadings calls found for each of keys in the table.
func (t readings) findReadings(keys map[readingKey]struct{}, found func(readingKey, reading)) error {
	if len(keys) == 0 {
		return nil
	}
	take := func(b []byte) {
		k := readingKey(b[:readingKeyLen])
		if _, wanted := keys[k]; !wanted {
			return
		}
		if r, ok := parseReading(b); ok {
			found(k, r)
		}
	}
	if err := eachReading(t.unsorted, take); err != nil {
		return err
	}
	return t.findSorted(keys, take)
}

// findSorted looks up keys in the sorted file. It reads the whole file if there are many.
func (t readings) findSorted(keys map[readingKey]struct{}, take func([]byte)) error {
	f, err := os.Open(t.sorted)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find readings: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("find readings: %w", err)
	}
	n := int(info.Size() / readingBytes)
	if len(keys) > n/64 {
		return eachReading(t.sorted, take)
	}
	b := make([]byte, readingBytes)
	for k := range keys {
		low, high := 0, n
		for low < high {
			middle := (low + high) / 2
			if _, err := f.ReadAt(b, int64(middle)*readingBytes); err != nil {
				return fmt.Errorf("find readings: %w", err)
			}
			c := bytes.Compare(b[:readingKeyLen], k[:])
			if c == 0 {
				take(b)
				break
			}
			if c < 0 {
				low = middle + 1
			} else {
				high = middle
			}
		}
	}
	return nil
}

// eachReading calls visit for each record of a file, which need not exist.
func eachReading(path string, visit func([]byte)) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find readings: %w", err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 256<<10)
	b := make([]byte, readingBytes)
	for {
		_, err := io.ReadFull(in, b)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("find readings: %w", err)
		}
		visit(b)
	}
}

// add appends readings and merges the files if necessary.
func (t readings) add(news map[readingKey]reading) error {
	if len(news) == 0 {
		return nil
	}
	b := make([]byte, 0, len(news)*readingBytes)
	for k, r := range news {
		b = appendReading(b, k, r)
	}
	sorted, unsorted := fileSize(t.sorted), fileSize(t.unsorted)
	if (sorted+unsorted)/readingBytes+int64(len(news)) > t.most {
		return nil
	}
	if err := appendAligned(t.unsorted, unsorted/readingBytes*readingBytes, b); err != nil {
		return fmt.Errorf("keep readings: %w", err)
	}
	if unsorted+int64(len(b)) < readingsUnsorted+sorted/16 {
		return nil
	}
	if err := t.mergeFiles(); err != nil {
		return fmt.Errorf("merge readings: %w", err)
	}
	return nil
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0 // it will be created
	}
	return info.Size()
}

// appendAligned writes b at an offset, over a record torn by a crash.
func appendAligned(path string, at int64, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, at)
	return errors.Join(err, f.Close())
}

// mergeFiles merges both files into one sorted file. A crash leaves them unchanged.
func (t readings) mergeFiles() error {
	var records [][]byte
	for _, path := range []string{t.sorted, t.unsorted} {
		b, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for ; len(b) >= readingBytes; b = b[readingBytes:] {
			if _, ok := parseReading(b[:readingBytes]); ok {
				records = append(records, b[:readingBytes])
			}
		}
	}
	sameKey := func(a, b []byte) int { return bytes.Compare(a[:readingKeyLen], b[:readingKeyLen]) }
	slices.SortStableFunc(records, sameKey)
	records = slices.CompactFunc(records, func(a, b []byte) bool { return sameKey(a, b) == 0 })
	f, err := os.OpenFile(t.sorted+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 256<<10)
	for _, r := range records {
		if _, err = out.Write(r); err != nil {
			break
		}
	}
	if err = errors.Join(err, out.Flush(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(t.sorted+".tmp", t.sorted); err != nil {
		return err
	}
	return os.Remove(t.unsorted)
}

// removeFiles deletes the table.
func (t readings) removeFiles() error {
	for _, path := range []string{t.sorted, t.sorted + ".tmp", t.unsorted} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove readings: %w", err)
		}
	}
	return nil
}
