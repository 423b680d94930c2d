package gitreads

import (
	"context"
	"log/slog"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/pipeline/analyze/ctags"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/versions"
	"github.com/quarrysearch/quarry/schemas/code"
)

// BlobAnalyzer analyzes documents of the past again that only a mirror still has.
type BlobAnalyzer struct {
	// Mirrors returns the mirrors of this process, or nil if it has none.
	Mirrors func() *mirror.Mirrors
	// Ctags returns the ctags processes with which this process indexes, or nil if it has
	// none.
	Ctags        func() *ctags.Pool
	MaxFileBytes int64
	Logger       *slog.Logger
}

// Analyze calls add for each document that the mirror of a repository still has, as it was
// indexed at that time: it keeps the recorded language, even if this version of the program
// would detect another. The other documents stay missing.
func (a BlobAnalyzer) Analyze(ctx context.Context, id code.RepositoryID, documents []versions.MissingDocument, add func(segment.Document) error) error {
	mirrors := a.Mirrors()
	if mirrors == nil {
		return nil
	}
	reader, err := mirrors.Mirror(id).Reader(ctx)
	if err != nil {
		a.Logger.Warn("mirror cannot be read; documents of the past remain missing", "repository_id", id, "documents", len(documents),
			"error", err)
		return nil
	}
	defer reader.Close()
	analyzer := analyze.New(analyze.Options{MaxBlobBytes: a.MaxFileBytes, Ctags: a.Ctags()})
	ids := make([]mirror.ObjectID, len(documents))
	for i, d := range documents {
		if ids[i], err = mirror.ParseObjectID([]byte(d.Key.Blob.String())); err != nil {
			return err
		}
	}
	return reader.Blobs(ctx, ids, a.MaxFileBytes, func(i int, content []byte, err error) error {
		if err != nil {
			return nil // the document stays missing
		}
		d := documents[i]
		decoded, skipped := analyzer.Decode(content)
		if skipped != "" {
			return nil
		}
		r := analyzer.AnalyzeText(decoded, d.Key.Language)
		return add(segment.Document{Key: d.Key, Flags: r.Flags, Text: r.Text, Symbols: r.Symbols})
	})
}
