package repartition

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// document is a document of an old segment.
type document struct {
	key    code.DocumentKey
	reader *segment.Reader
	number segment.DocID
}

// writeSegments copies the documents of a repository that the partition lacks into new
// segments.
func (w *writer) writeSegments(ctx context.Context, r *places.Repository) ([]event.SegmentRef, error) {
	documents, err := w.findDocuments(ctx, r)
	if err != nil || len(documents) == 0 {
		return nil, err
	}
	var refs []event.SegmentRef
	reset := func() {
		seed := fmt.Appendf(nil, "repartition %x, partition %d, repository %d, segment %d", w.id, w.partition, r.ID, len(refs))
		w.builder.Reset(segment.Options{Seed: seed, MaxTextBytes: w.o.SegmentBytes, Grams: true})
	}
	seal := func() error {
		ref, err := w.sealSegment(ctx)
		refs = append(refs, ref)
		return err
	}
	reset()
	for len(documents) > 0 {
		reader, n := documents[0].reader, 1
		for n < len(documents) && documents[n].reader == reader {
			n++
		}
		err := readDocuments(ctx, reader, documents[:n], func(d segment.Document) error {
			err := w.builder.Add(d)
			if errors.Is(err, segment.ErrFull) {
				if err = seal(); err == nil {
					reset()
					err = w.builder.Add(d)
				}
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("copy documents of segment %s: %w", reader.ID(), err)
		}
		documents = documents[n:]
	}
	return refs, seal()
}

// findDocuments returns the documents that a repository names and the partition lacks, in the
// order in which the old segments have them. Documents that no old segment holds are left out.
func (w *writer) findDocuments(ctx context.Context, r *places.Repository) (documents []document, err error) {
	for _, ref := range r.Refs {
		var locateErr error
		err := w.view.Files(ctx, r.ID, ref.Ref, "", func(p places.Place) bool {
			if _, held := w.held[p.Document]; held || p.Skipped != "" {
				return true
			}
			if locateErr = w.view.Locate(r.ID, &p); locateErr != nil {
				return false
			}
			if p.Reader != nil {
				w.held[p.Document] = struct{}{}
				documents = append(documents, document{p.Document, p.Reader, p.Number})
			}
			return true
		})
		if err := errors.Join(err, locateErr); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(documents, func(a, b document) int {
		x, y := a.reader.ID(), b.reader.ID()
		return cmp.Or(bytes.Compare(x[:], y[:]), cmp.Compare(a.number, b.number))
	})
	return documents, nil
}

// readDocuments calls use for documents of a segment, in order.
func readDocuments(ctx context.Context, r *segment.Reader, documents []document, use func(segment.Document) error) (err error) {
	var cursor segment.Cursor
	defer func() { err = errors.Join(err, cursor.Close()) }()
	text := segment.NewText(r, &cursor)
	for _, d := range documents {
		if err := ctx.Err(); err != nil {
			return err
		}
		content, err := segment.ReadDocument(r, text, d.number, d.key)
		if err != nil {
			return err
		}
		if err := use(content); err != nil {
			return err
		}
	}
	return nil
}

// sealSegment seals the segment in the builder and puts it into the segment store.
func (w *writer) sealSegment(ctx context.Context) (ref event.SegmentRef, err error) {
	path := filepath.Join(w.o.TempDir, "segment")
	meta, err := w.builder.Finish(path)
	if err != nil {
		return ref, err
	}
	if err := w.Source.o.Objects.Put(ctx, segmentstore.SegmentName(meta.ID), path); err != nil {
		return ref, err
	}
	w.result.Segments++
	w.result.Documents += meta.Documents
	w.result.TextBytes += meta.TextBytes
	return event.SegmentRef{ID: meta.ID.String(), SizeBytes: meta.SizeBytes, TextBytes: meta.TextBytes, Documents: meta.Documents}, nil
}
