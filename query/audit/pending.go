package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/quarrysearch/quarry/schemas/event"
)

const (
	// drainAttempts is how often a group is tried at the end before it is stored in
	// Options.PendingFile.
	drainAttempts = 3
	// pendingFactor bounds the file, as a multiple of Options.QueueBytes: records of
	// several runs accumulate in it if the log accepts none in between.
	pendingFactor = 4
	// maxPendingLine bounds a record as JSON, whose value takes a third more bytes as
	// text.
	maxPendingLine = 2 * event.MaxValueBytes
)

// pendingRecord is a log record as a line of the file.
type pendingRecord struct {
	Key     []byte         `json:"key"`
	Value   []byte         `json:"value"`
	Headers []event.Header `json:"headers"`
}

// appendPending appends the records that an earlier process could not append, and removes
// the file. It retries until ctx ends. A record that was appended already is recognized
// by the ID of its event.
func (r *Recorder) appendPending(ctx context.Context) {
	if r.o.PendingFile == "" {
		return
	}
	records, err := readPending(r.o.PendingFile)
	if err != nil {
		r.o.Logger.Error("audit records spooled by an earlier process cannot be read; the rest of the file is kept", "path", r.o.PendingFile, "error", err)
	}
	for r.pendingRecords = records; len(r.pendingRecords) > 0; r.pendingRecords = r.pendingRecords[1:] {
		if !r.appendUntilWritten(ctx, r.pendingRecords[0], 0) {
			return
		}
	}
	if err != nil || records == nil {
		return
	}
	if err := os.Remove(r.o.PendingFile); err != nil {
		r.o.Logger.Error("audit records were written, but their spool file cannot be removed; they are written again at the next start, without effect", "path", r.o.PendingFile, "error", err)
		return
	}
	r.o.Logger.Info("wrote audit records spooled by an earlier process", "events", len(records))
}

// readPending returns the records of the file up to the first unreadable one; none if
// there is no file.
func readPending(path string) (records []event.Record, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxPendingLine)
	for lines.Scan() {
		var line pendingRecord
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return records, fmt.Errorf("line %d: %w", len(records)+1, err)
		}
		records = append(records, event.Record{Key: line.Key, Value: line.Value, Headers: line.Headers})
	}
	return records, lines.Err()
}

// keepPending writes the remaining records to the file and returns how many could not be
// stored.
func (r *Recorder) keepPending(left []entry) (lost int, err error) {
	if r.o.PendingFile == "" {
		return len(left), nil
	}
	total, records := len(left), r.pendingRecords
	if r.currentGroup != nil {
		records = append(records, r.currentGroup.event)
		left = left[min(len(r.currentGroup.entries), len(left)):]
	}
	for len(left) > 0 {
		q := queue{entries: left}
		head := q.firstGroup()
		r.groups++
		records = append(records, r.encodeGroup(head, loss{}).event)
		left = left[len(head):]
	}
	if len(records) == 0 {
		return 0, nil
	}
	var text bytes.Buffer
	for i := range records {
		line, err := json.Marshal(pendingRecord{records[i].Key, records[i].Value, records[i].Headers})
		if err != nil {
			return 0, err // marshals only bytes and strings: cannot happen
		}
		text.Write(append(line, '\n'))
	}
	if limit := pendingFactor * r.o.QueueBytes; text.Len() > limit {
		return total, fmt.Errorf("%s would have %d bytes, at most %d", r.o.PendingFile, text.Len(), limit)
	}
	if err := replaceFile(r.o.PendingFile, text.Bytes()); err != nil {
		return total, err
	}
	r.o.Logger.Warn("the event log does not accept records; audit records are spooled to a file and written after the next start", "path", r.o.PendingFile, "events", len(records))
	return 0, nil
}

// replaceFile replaces the content of a file durably and atomically.
func replaceFile(path string, content []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, filepath.Base(path)+"~") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
