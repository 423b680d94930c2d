package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/indexing"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

func newFreshness(f *indexing.Freshness, now time.Time) wire.Freshness {
	out := wire.Freshness{
		Ref: string(f.Ref), Commit: string(f.Commit), ReceivedAt: wire.At(f.ReceivedAt), IndexedAt: wire.At(f.IndexedAt),
		WaitingPushes: f.Waiting, MoreWaiting: f.More, OldestWaitingAt: wire.At(f.OldestAt),
	}
	if !f.ReceivedAt.IsZero() && !f.IndexedAt.IsZero() {
		lag := max(f.IndexedAt.Sub(f.ReceivedAt).Seconds(), 0)
		out.LagSeconds = &lag
	}
	if !f.OldestAt.IsZero() {
		out.StaleSeconds = max(now.Sub(f.OldestAt).Seconds(), 0)
	}
	return out
}

// maxSkippedShown bounds the skipped files in a status.
const maxSkippedShown = 10

// firstSkipped returns the first skipped files of the default branch, and the address of
// the full list; its zero value if no file is skipped.
func (s *Server) firstSkipped(ctx context.Context, id code.RepositoryID) (out wire.FirstSkippedFiles, err error) {
	files, _, err := s.o.Status.Skipped(ctx, id, "", "", 0, maxSkippedShown)
	if errors.Is(err, code.ErrNotFound) || err == nil && len(files) == 0 {
		return out, nil // the default branch may not be indexed
	}
	if err != nil {
		return out, err
	}
	return wire.FirstSkippedFiles{Files: newSkippedFiles(files), URL: s.public.Resolve(fmt.Sprintf("/api/repos/%d/skipped", s.numberOf(id)))}, nil
}

func newSkippedFiles(files []indexing.SkippedFile) []wire.SkippedFile {
	items := make([]wire.SkippedFile, len(files))
	for i, f := range files {
		items[i] = wire.SkippedFile{Path: f.Path, Ref: string(f.Ref), Reason: wire.SkipReason(f.Reason), SizeBytes: f.SizeBytes, Message: f.Reason.Advice()}
		if r := f.PartialSymbols; r != "" {
			items[i].Reason, items[i].Symbols, items[i].Message = wire.SkipReason(r), wire.SkippedFileSymbolsPartial, r.Advice()
		}
	}
	return items
}

// reindexRepository re-indexes every indexed ref of a repository from scratch: it reads
// files again and checks them against the current limits. Documents that are already
// indexed are reused.
func (s *Server) reindexRepository(r *http.Request) (*reply, error) {
	known, err := s.knownRepository(r)
	if err != nil {
		return nil, err
	}
	st, err := s.o.Status.Status(r.Context(), known.ID)
	if err != nil {
		return nil, unknownRepository(r, err)
	}
	refs := make([]code.Ref, 0, len(st.Refs))
	for _, ref := range st.Refs {
		if ref.Ref == st.Repository.DefaultRef() {
			refs = append([]code.Ref{ref.Ref}, refs...) // the other refs are announced as differences from it
		} else {
			refs = append(refs, ref.Ref)
		}
	}
	position, err := s.o.Registrar.Reindex(r.Context(), known.ID, refs)
	if err != nil {
		return nil, err
	}
	return acceptedReply(newAccepted(s.numberOf(known.ID), &known, position)), nil
}
