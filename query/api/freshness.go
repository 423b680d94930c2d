package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Freshness is how far searches are behind the pushes of a repository.
type Freshness struct {
	// Ref is the ref that was indexed last, Commit its commit; ReceivedAt is when
	// the first push that led there was received, IndexedAt when a worker finished
	// it: it is searchable moments later.
	Ref                   code.Ref
	Commit                code.CommitID
	ReceivedAt, IndexedAt time.Time
	// Waiting counts the pushes that were received and have not had their effect,
	// the oldest received at OldestAt. More says that there may be more: as many
	// events as are looked at wait in the partition.
	Waiting  int
	More     bool
	OldestAt time.Time
}

type freshnessItem struct {
	Ref        code.Ref      `json:"ref,omitempty"`
	Commit     code.CommitID `json:"commit,omitempty"`
	ReceivedAt *jsonTime     `json:"receivedAt,omitempty"`
	IndexedAt  *jsonTime     `json:"indexedAt,omitempty"`
	// Lag is from ReceivedAt to IndexedAt.
	Lag      *float64  `json:"lagSeconds,omitempty"`
	Waiting  int       `json:"waitingPushes"`
	More     bool      `json:"moreWaiting,omitempty"`
	OldestAt *jsonTime `json:"oldestWaitingAt,omitempty"`
	// Stale is the age of the oldest push that waits, 0 if none does.
	Stale float64 `json:"staleSeconds"`
}

func newFreshnessItem(f *Freshness, now time.Time) *freshnessItem {
	out := &freshnessItem{
		Ref: f.Ref, Commit: f.Commit, ReceivedAt: optionalTime(f.ReceivedAt), IndexedAt: optionalTime(f.IndexedAt),
		Waiting: f.Waiting, More: f.More, OldestAt: optionalTime(f.OldestAt),
	}
	if !f.ReceivedAt.IsZero() && !f.IndexedAt.IsZero() {
		lag := max(f.IndexedAt.Sub(f.ReceivedAt).Seconds(), 0)
		out.Lag = &lag
	}
	if !f.OldestAt.IsZero() {
		out.Stale = max(now.Sub(f.OldestAt).Seconds(), 0)
	}
	return out
}

// maxSkippedShown bounds the skipped files in a status.
const maxSkippedShown = 10

// skippedItems are the first skipped files of the default branch, and where all are.
type skippedItems struct {
	Files []skippedItem `json:"files"`
	URL   string        `json:"url"`
}

// firstSkipped returns nil where no file is skipped.
func (s *Server) firstSkipped(ctx context.Context, id code.RepositoryID) (*skippedItems, error) {
	files, _, err := s.o.Status.Skipped(ctx, id, "", "", 0, maxSkippedShown)
	if errors.Is(err, code.ErrNotFound) || err == nil && len(files) == 0 {
		return nil, nil // the default branch may not be indexed
	}
	if err != nil {
		return nil, err
	}
	return &skippedItems{newSkippedItems(files), fmt.Sprintf("/api/repos/%d/skipped", s.numberOf(id))}, nil
}

func newSkippedItems(files []SkippedFile) []skippedItem {
	items := make([]skippedItem, len(files))
	for i, f := range files {
		items[i] = skippedItem{Path: f.Path, Ref: f.Ref, Reason: string(f.Reason), SizeBytes: f.SizeBytes, Message: f.Reason.Advice()}
		if r := f.PartialSymbols; r != "" {
			items[i].Reason, items[i].Symbols, items[i].Message = string(r), "partial", r.Advice()
		}
	}
	return items
}

// reindexRepository re-indexes every indexed ref of a repository from scratch: files are
// read again and checked against the current limits. Texts that are indexed already are
// kept as they are.
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
			refs = append([]code.Ref{ref.Ref}, refs...) // the others are announced as their difference from it
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
