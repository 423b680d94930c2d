package scip

import (
	"bufio"
	"bytes"
	"container/heap"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
)

// sortBytes bounds the records that a sorter keeps in memory, and runBufferBytes the memory
// for reading each of its runs.
const (
	sortBytes      = 6 << 20
	runBufferBytes = 16 << 10
)

// sorter orders records by their bytes. Records beyond sortBytes are in sorted runs in a
// file without a name, which the system removes when it is closed.
type sorter struct {
	directory string
	data      []byte
	// starts are the offsets in data of the records, each preceded by its length.
	starts []uint32
	file   *os.File
	runs   []int64 // ends of the runs in file
}

// addRecord adds a record. It copies the bytes.
func (s *sorter) addRecord(record []byte) error {
	if len(s.data)+len(record)+4*len(s.starts) > sortBytes && len(s.starts) > 0 {
		if err := s.writeRun(); err != nil {
			return fmt.Errorf("sort the precise index: %w", err)
		}
	}
	s.starts = append(s.starts, uint32(len(s.data)))
	s.data = append(binary.AppendUvarint(s.data, uint64(len(record))), record...)
	return nil
}

// record returns the record at an offset of data.
func (s *sorter) record(start uint32) []byte {
	size, n := binary.Uvarint(s.data[start:])
	from := int(start) + n
	return s.data[from : from+int(size)]
}

func (s *sorter) sortRecords() {
	slices.SortFunc(s.starts, func(a, b uint32) int { return bytes.Compare(s.record(a), s.record(b)) })
}

func (s *sorter) writeRun() (err error) {
	s.sortRecords()
	if s.file == nil {
		if s.file, err = createUnnamed(s.directory); err != nil {
			return err
		}
	}
	w := bufio.NewWriterSize(s.file, 64<<10)
	end := int64(0)
	if len(s.runs) > 0 {
		end = s.runs[len(s.runs)-1]
	}
	var size []byte
	for _, start := range s.starts {
		record := s.record(start)
		size = binary.AppendUvarint(size[:0], uint64(len(record)))
		_, _ = w.Write(size) // Flush returns the error
		_, _ = w.Write(record)
		end += int64(len(size) + len(record))
	}
	s.runs = append(s.runs, end)
	s.data, s.starts = s.data[:0], s.starts[:0]
	return w.Flush()
}

// createUnnamed creates a file and removes its name.
func createUnnamed(directory string) (*os.File, error) {
	f, err := os.CreateTemp(directory, "sort-")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// release releases the memory and the file.
func (s *sorter) release() {
	if s.file != nil {
		_ = s.file.Close() // it was only read since the last flush
	}
	*s = sorter{directory: s.directory}
}

// mergeRuns returns an iterator over all records in order. No record may be added while it is
// used.
func (s *sorter) mergeRuns() (*merged, error) {
	s.sortRecords()
	m := &merged{}
	from := int64(0)
	for _, end := range s.runs {
		m.runs = append(m.runs, &run{r: bufio.NewReaderSize(io.NewSectionReader(s.file, from, end-from), runBufferBytes)})
		from = end
	}
	m.runs = append(m.runs, &run{memory: s, left: s.starts})
	open := m.runs[:0]
	for _, r := range m.runs {
		more, err := r.readNext()
		if err != nil {
			return nil, err
		}
		if more {
			open = append(open, r)
		}
	}
	m.runs = open
	heap.Init(m)
	return m, nil
}

// run reads one sorted run: of the file, or of the records in memory.
type run struct {
	r      *bufio.Reader
	memory *sorter
	left   []uint32
	record []byte // the current one, valid until readNext
}

func (r *run) readNext() (more bool, err error) {
	if r.memory != nil {
		if len(r.left) == 0 {
			return false, nil
		}
		r.record, r.left = r.memory.record(r.left[0]), r.left[1:]
		return true, nil
	}
	size, err := binary.ReadUvarint(r.r)
	if err == io.EOF {
		return false, nil
	}
	if err == nil {
		r.record = slices.Grow(r.record[:0], int(size))[:size]
		_, err = io.ReadFull(r.r, r.record)
	}
	if err != nil {
		return false, fmt.Errorf("sort the precise index: %w", err)
	}
	return true, nil
}

// merged iterates over the records of several runs. It is a heap of the runs, ordered by
// their current records.
type merged struct {
	runs    []*run
	started bool
}

// nextRecord returns the next record, which is valid until the following call; nil at the end.
func (m *merged) nextRecord() ([]byte, error) {
	if m.started && len(m.runs) > 0 {
		more, err := m.runs[0].readNext()
		if err != nil {
			return nil, err
		}
		if more {
			heap.Fix(m, 0)
		} else {
			heap.Pop(m)
		}
	}
	m.started = true
	if len(m.runs) == 0 {
		return nil, nil
	}
	return m.runs[0].record, nil
}

// Len implements heap.Interface.
func (m *merged) Len() int { return len(m.runs) }

// Less implements heap.Interface.
func (m *merged) Less(i, j int) bool { return bytes.Compare(m.runs[i].record, m.runs[j].record) < 0 }

// Swap implements heap.Interface.
func (m *merged) Swap(i, j int) { m.runs[i], m.runs[j] = m.runs[j], m.runs[i] }

// Push implements heap.Interface.
func (m *merged) Push(x any) { m.runs = append(m.runs, x.(*run)) }

// Pop implements heap.Interface.
func (m *merged) Pop() any {
	last := m.runs[len(m.runs)-1]
	m.runs = m.runs[:len(m.runs)-1]
	return last
}

// spool holds bytes that are read once after all of them are written. Beyond spoolBytes, they
// are in a file without a name.
type spool struct {
	directory string
	memory    []byte
	file      *os.File
	size      uint64
	entries   int
}

const spoolBytes = 256 << 10

// addEntry appends an entry.
func (s *spool) addEntry(entry []byte) (err error) {
	s.entries++
	s.size += uint64(len(entry))
	s.memory = append(s.memory, entry...)
	if len(s.memory) < spoolBytes {
		return nil
	}
	if s.file == nil {
		if s.file, err = createUnnamed(s.directory); err != nil {
			return err
		}
	}
	_, err = s.file.Write(s.memory)
	s.memory = s.memory[:0]
	return err
}

// writeTo writes everything to w.
func (s *spool) writeTo(w io.Writer) error {
	if s.file != nil {
		if _, err := io.Copy(w, io.NewSectionReader(s.file, 0, int64(s.size)-int64(len(s.memory)))); err != nil {
			return err
		}
	}
	_, err := w.Write(s.memory)
	return err
}

func (s *spool) release() {
	if s.file != nil {
		_ = s.file.Close() // it was only read since the last write
	}
	*s = spool{directory: s.directory}
}
