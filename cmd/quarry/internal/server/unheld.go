package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/schemas/code"
)

// maxUnheld bounds the documents without a segment that are looked for at once;
// when those are back, the next are.
const maxUnheld = 10_000

// An unheldSearch finds the refs that name documents which no segment holds: a
// segment was lost from the store before a rebuild. While the projections catch
// up that is nothing, for a merge may still bring them; and so it is for the
// first look, for the same reason. Finding the refs walks every manifest, about
// half a microsecond for a file, until all are asked for.
type unheldSearch struct {
	caughtUp <-chan struct{}
	acquire  func() *places.View
	// seen is the set of the last look, searched the one whose refs were all asked
	// for.
	seen, searched [sha256.Size]byte
	asked          map[unheldRef]bool
}

// unheldRef is a ref at the commit at which it lacks text.
type unheldRef struct {
	repository code.RepositoryID
	ref        code.Ref
	commit     code.CommitID
	indexedAt  time.Time
}

// eventID is the same for the same cause.
func (r unheldRef) eventID() string {
	sum := sha256.Sum256([]byte(string(r.ref) + "\x00" + string(r.commit)))
	return "repair/unheld/" + r.repository.String() + "/" + hex.EncodeToString(sum[:16])
}

// told notes that a ref was asked for.
func (s *unheldSearch) told(r unheldRef) { s.asked[r] = true }

// next returns refs to ask for, maxRepairs at most, default branches before
// others of their repository.
func (s *unheldSearch) next(ctx context.Context) ([]unheldRef, error) {
	select {
	case <-s.caughtUp:
	default:
		return nil, nil
	}
	v := s.acquire()
	defer v.Release()
	if v.Unheld() == 0 {
		s.seen, s.searched = [sha256.Size]byte{}, [sha256.Size]byte{}
		clear(s.asked)
		return nil, nil
	}
	keys, err := v.UnheldDocuments(maxUnheld)
	if err != nil {
		return nil, err
	}
	set, before := digest(keys), s.seen
	s.seen = set
	if set == s.searched || set != before {
		return nil, nil
	}
	refs, err := s.search(ctx, v, keys)
	if err == nil && len(refs) == 0 {
		s.searched = set // every one was asked for
	}
	return refs, err
}

func digest(keys []code.DocumentKey) [sha256.Size]byte {
	h := sha256.New()
	for _, k := range keys {
		_, _ = fmt.Fprintf(h, "%x %s\n", k.Blob, k.Language) // never fails
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// search walks the manifests for refs that name one of the documents, and were
// not asked for.
func (s *unheldSearch) search(ctx context.Context, v *places.View, keys []code.DocumentKey) ([]unheldRef, error) {
	unheld := make(map[code.DocumentKey]bool, len(keys))
	for _, k := range keys {
		unheld[k] = true
	}
	var found []unheldRef
	for _, r := range v.Repositories() {
		if r == nil {
			continue
		}
		refs := slices.Clone(r.Refs)
		if i := slices.Index(refs, r.Default); i > 0 {
			refs[0], refs[i] = refs[i], refs[0]
		}
		for _, ref := range refs {
			candidate := unheldRef{r.ID, ref.Ref, ref.Commit, ref.IndexedAt}
			if len(found) == maxRepairs || s.asked[candidate] {
				continue
			}
			lacks := false
			err := v.Files(ctx, r.ID, ref.Ref, "", func(p places.Place) bool {
				lacks = p.Skipped == "" && unheld[p.Document]
				return !lacks
			})
			if err != nil {
				return found, fmt.Errorf("%s of repository %s: %w", ref.Ref, r.ID, err)
			}
			if lacks {
				found = append(found, candidate)
			}
		}
	}
	return found, nil
}
