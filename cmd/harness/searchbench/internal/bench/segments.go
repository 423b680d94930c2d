package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/code"
)

// CoreFigure is the cost of the core of indexing: writing trigrams, frames and symbols to
// segments, on one thread, in processor time of the whole process, user and system. It
// includes garbage collection and the writing of files, but no git, no reading of files,
// no detection of languages and no parsing. A process should measure only once, because
// earlier work leaves garbage.
type CoreFigure struct {
	TextBytes    int64         `json:"textBytes"`
	SegmentBytes int64         `json:"segmentBytes"`
	Documents    int           `json:"documents"`
	Symbols      int           `json:"symbols"`
	CPU          time.Duration `json:"cpu"`
}

func (f CoreFigure) perMegabyte() float64 {
	if f.TextBytes == 0 {
		return 0
	}
	return float64(f.CPU) / float64(f.TextBytes) * 1e6
}

// maxTextBytes bounds the text in memory.
const maxTextBytes = 4 << 30

var errTooMuch = fmt.Errorf("the trees hold more than %d bytes of text", int64(maxTextBytes))

// ReadDocuments reads all text files below the roots as documents. It omits files that the indexer
// would skip.
func ReadDocuments(ctx context.Context, roots ...string) ([]segment.Document, error) {
	var documents []segment.Document
	var total int64
	analyzer := analyze.New(analyze.Options{})
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err = errors.Join(err, ctx.Err()); err != nil || !entry.Type().IsRegular() {
				return err
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			relative, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			r := analyzer.Document(relative, content)
			if r.Skipped != "" {
				return nil
			}
			if total += int64(len(r.Text)); total > maxTextBytes {
				return errTooMuch
			}
			d := segment.Document{Text: r.Text, Symbols: r.Symbols, Flags: r.Flags &^ analyze.PlaceFlags, Key: code.DocumentKey{Language: r.Language}}
			binary.BigEndian.PutUint64(d.Key.Blob[:], uint64(len(documents))) // equal files stay separate, unlike in the indexer
			documents = append(documents, d)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read the texts of %s: %w", root, err)
		}
	}
	return documents, nil
}

// MeasureCore builds segments of the documents in dir.
func MeasureCore(documents []segment.Document, dir string) (f CoreFigure, err error) {
	f.Documents = len(documents)
	runtime.GC()
	before := processorTime()
	builder, next := segment.NewBuilder(segment.Options{}), 0
	for next < len(documents) {
		n, err := fillSegment(builder, documents[next:])
		if err != nil {
			return f, err
		}
		next += n
		meta, err := builder.Finish(filepath.Join(dir, fmt.Sprintf("segment-%d", next)))
		if err != nil {
			return f, err
		}
		f.TextBytes, f.SegmentBytes, f.Symbols = f.TextBytes+meta.TextBytes, f.SegmentBytes+meta.SizeBytes, f.Symbols+meta.Symbols
		builder.Reset(segment.Options{})
	}
	f.CPU = processorTime() - before
	return f, nil
}

// fillSegment adds documents until the segment is full. It returns how many it has added,
// which is at least one.
func fillSegment(builder *segment.Builder, documents []segment.Document) (int, error) {
	for i := range documents {
		err := builder.Add(documents[i])
		if errors.Is(err, segment.ErrFull) && i > 0 {
			return i, nil
		}
		if err != nil {
			return 0, err
		}
	}
	return len(documents), nil
}

// processorTime returns the CPU time of all threads of this process.
func processorTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic("getrusage of this process: " + err.Error()) // cannot fail with these arguments
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
