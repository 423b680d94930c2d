package precise

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/projections/scip"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Origin identifies what an upload describes.
type Origin struct {
	Repository *code.Repository
	Commit     code.CommitID
	// Path is the directory in which the indexer ran; empty for the root.
	Path string
}

// Upload reads a SCIP index of a commit, checks it against the files of the commit,
// stores it and announces it. On error, nothing of it becomes visible.
func (s *Store) Upload(ctx context.Context, from Origin, body io.Reader) (*event.ScipUploaded, event.Position, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		s.metrics.uploads.WithLabelValues(resultRefused).Inc()
		return nil, event.Position{}, fmt.Errorf("%w: try again in a minute", ErrBusy)
	}
	ctx, cancel := context.WithTimeout(ctx, MaxUploadTime)
	defer cancel()
	began := time.Now()
	ev, at, err := s.upload(ctx, from, body)
	result := resultAccepted
	switch {
	case errors.Is(err, scip.ErrInvalid), errors.Is(err, scip.ErrTooLarge), errors.Is(err, source.ErrNoRevision):
		result = resultRefused
	case err != nil:
		result = resultFailed
	}
	s.metrics.uploads.WithLabelValues(result).Inc()
	if err != nil {
		return nil, at, fmt.Errorf("precise index of %s at %s: %w", from.Repository.Name, from.Commit, err)
	}
	s.o.Logger.InfoContext(ctx, "precise index accepted", "repository", from.Repository.Name, "commit", string(ev.Commit), "path", ev.Path,
		"tool", ev.Tool, "documents", ev.Documents, "occurrences", ev.Occurrences, "bytes", ev.SizeBytes, "position", at.String(), "duration", time.Since(began))
	return ev, at, nil
}

func (s *Store) upload(ctx context.Context, from Origin, body io.Reader) (*event.ScipUploaded, event.Position, error) {
	var none event.Position
	if from.Path != "" {
		if err := code.ValidatePath(from.Path); err != nil {
			return nil, none, fmt.Errorf("%w: path: %w", scip.ErrInvalid, err)
		}
	}
	if _, err := s.o.Files.Resolve(ctx, from.Repository, string(from.Commit)); err != nil {
		return nil, none, err
	}
	if total := s.totalBytes(); total >= s.o.MaxTotalBytes {
		return nil, none, fmt.Errorf("%w: %d bytes, at most %d; raise scip.maxTotalBytes or lower scip.keepUploads", ErrFull, total, s.o.MaxTotalBytes)
	}
	f, err := os.CreateTemp(s.o.Directory, "upload-")
	if err != nil {
		return nil, none, err
	}
	defer os.Remove(f.Name()) // a no-op once the segment store has moved it
	header, size, sum, err := s.build(ctx, from, body, f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, none, err
	}
	ev := &event.ScipUploaded{
		Repository: from.Repository.ID, Commit: from.Commit, Path: from.Path, Object: segmentstore.ScipName(from.Repository.ID, sum),
		SizeBytes: size, Documents: header.Documents, Occurrences: header.Occurrences, Symbols: header.Symbols,
		Tool: header.Tool, ToolVersion: header.ToolVersion, Keep: s.o.Keep, At: time.Now().UTC(),
	}
	if err := s.o.Objects.Put(ctx, ev.Object, f.Name()); err != nil {
		return nil, none, err
	}
	at, err := s.o.Log.Announce(ctx, ev)
	return ev, at, err
}

// build writes the object of an index to w.
func (s *Store) build(ctx context.Context, from Origin, body io.Reader, w io.Writer) (scip.Header, int64, string, error) {
	limits := scip.Limits{MaxBytes: s.o.MaxUploadBytes, Directory: s.o.Directory}
	out := bufio.NewWriterSize(w, 1<<20)
	header := scip.Header{Repository: from.Repository.ID, Commit: from.Commit, UploadedAt: time.Now().UnixNano()}
	b := &uploadBuilder{ctx: ctx, files: s.o.Files, from: from, Builder: scip.NewBuilder(out, header, limits)}
	defer b.Close()
	if err := scip.ReadIndex(body, limits, b); err != nil {
		return header, 0, "", err
	}
	header, size, sum, err := b.Finish()
	if err == nil && header.Documents == 0 {
		err = fmt.Errorf("%w: it is about no file: did the indexer find the sources?", scip.ErrInvalid)
	}
	return header, size, sum, errors.Join(err, out.Flush())
}

// uploadBuilder passes the files of a commit to a scip.Builder.
type uploadBuilder struct {
	*scip.Builder
	ctx   context.Context
	files Files
	from  Origin
}

// VisitMetadata implements scip.Visitor.
func (b *uploadBuilder) VisitMetadata(m *scip.Metadata) error {
	b.SetTool(m)
	return nil
}

// VisitDocument implements scip.Visitor. It skips files that are not text or too large to
// show, and files outside the directory of the index: some indexers describe files that a
// build generated elsewhere.
func (b *uploadBuilder) VisitDocument(d *scip.Document) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	if strings.HasPrefix(d.Path, "../") {
		return nil
	}
	if err := code.ValidatePath(d.Path); err != nil {
		return fmt.Errorf("%w: document %.200q: %w", scip.ErrInvalid, d.Path, err)
	}
	name := path.Join(b.from.Path, d.Path)
	file, err := b.files.File(b.ctx, b.from.Repository, string(b.from.Commit), name)
	switch {
	case errors.Is(err, source.ErrNoPath), errors.Is(err, source.ErrInvalidPath):
		return fmt.Errorf("%w: document %.200q is no file of commit %s: was the index made of that commit, and in that directory?", scip.ErrInvalid, name, b.from.Commit)
	case errors.Is(err, source.ErrBinary), errors.Is(err, source.ErrTooLarge):
		return nil
	case err != nil:
		return err
	}
	var blob code.BlobID
	if file.Blob != "" {
		if blob, err = code.ParseBlobID(file.Blob); err != nil {
			return fmt.Errorf("blob of %.200q: %w", name, err)
		}
	}
	return b.AddDocument(d, name, blob, file.Text)
}

// VisitExternal implements scip.Visitor.
func (b *uploadBuilder) VisitExternal(i *scip.Information) error { return b.AddExternal(i) }
