package versions

import (
	"context"
	"errors"
	"fmt"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// analyzeDocuments builds segments of the documents that the mirror of a repository still
// has.
func (p *pastRestorer) analyzeDocuments(ctx context.Context, m *mirror.Mirror, id code.RepositoryID, documents []missingDocument) ([]event.SegmentRef, error) {
	reader, err := m.Reader(ctx)
	if err != nil {
		p.o.Logger.Warn("mirror cannot be read; documents of the past remain missing", "repository_id", id, "documents", len(documents), "error", err)
		return nil, nil
	}
	defer reader.Close()
	options := analyze.Options{MaxBlobBytes: int64(p.o.Config.Pipeline.MaxFileBytes)}
	if p.o.Ctags != nil {
		options.Ctags = p.o.Ctags()
	}
	a := &analysis{
		past: p, seed: fmt.Appendf(nil, "repository %d, of the past", id),
		analyzer: analyze.New(options),
	}
	a.builder = segment.NewBuilder(segment.Options{Seed: a.seed})
	ids := make([]mirror.ObjectID, len(documents))
	for i, d := range documents {
		if ids[i], err = mirror.ParseObjectID([]byte(d.key.Blob.String())); err != nil {
			return nil, err
		}
	}
	err = reader.Blobs(ctx, ids, int64(p.o.Config.Pipeline.MaxFileBytes), func(i int, content []byte, err error) error {
		if err != nil {
			return nil // the document stays missing
		}
		return a.addDocument(documents[i], content)
	})
	if err == nil {
		err = a.finishSegment()
	}
	return a.refs, err
}

// analysis builds segments of blobs.
type analysis struct {
	past     *pastRestorer
	seed     []byte
	analyzer *analyze.Analyzer
	builder  *segment.Builder
	refs     []event.SegmentRef
}

// addDocument adds a document as it was indexed at that time. It keeps the recorded
// language, even if this version of the program would detect another.
func (a *analysis) addDocument(w missingDocument, content []byte) error {
	r := a.analyzer.DocumentIn(w.key.Language, w.path, content)
	if r.Skipped != "" {
		return nil
	}
	d := segment.Document{Key: w.key, Flags: r.Flags &^ analyze.PlaceFlags, Text: r.Text, Symbols: r.Symbols}
	err := a.builder.Add(d)
	if errors.Is(err, segment.ErrFull) {
		if err := a.finishSegment(); err != nil {
			return err
		}
		a.builder.Reset(segment.Options{Seed: a.seed})
		err = a.builder.Add(d)
	}
	return err
}

// finishSegment finishes the current segment.
func (a *analysis) finishSegment() error {
	if a.builder.Documents() == 0 {
		return nil
	}
	path, err := a.past.made.nextPath(a.past.o.Config.Data)
	if err != nil {
		return err
	}
	meta, err := a.builder.Finish(path)
	if err != nil {
		return err
	}
	a.past.made.addFile(segmentstore.SegmentName(meta.ID), path)
	a.refs = append(a.refs, event.SegmentRef{ID: meta.ID.String(), SizeBytes: meta.SizeBytes, TextBytes: meta.TextBytes, Documents: meta.Documents})
	return nil
}
