package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// checkReach returns ErrNoRevision if no ref leads to the commit. If an indexed ref does,
// the result is cached until another commit is indexed, because the check walks through
// history.
func (b *Browser) checkReach(ctx context.Context, s Snapshot, rev revision) error {
	branches := s.Branches(rev.id)
	key := cacheKey{operation: "reach", id: rev.id, commit: rev.commit, path: tipsDigest(branches)}
	_, hit := b.cache.get(key)
	b.metrics.observeLookup(key.operation, hit)
	if hit {
		return nil
	}
	indexed := make([]code.Revision, len(branches))
	for i, br := range branches {
		indexed[i] = code.Revision{Ref: br.Ref, Commit: br.Commit}
	}
	var reach Reach
	err := b.callGit(ctx, b.walks, key.operation, func(ctx context.Context) (err error) {
		reach, err = b.o.Git.Reach(ctx, rev.id, rev.commit, indexed)
		return err
	})
	switch {
	case err != nil:
		return err
	case reach == ReachNone:
		return ErrNoRevision // the same error as for a commit that does not exist
	case reach == ReachIndexed:
		b.cache.put(key, struct{}{}, 0)
	}
	return nil
}

// tipsDigest returns a digest of the indexed commits of a repository.
func tipsDigest(branches []Branch) string {
	slices.SortFunc(branches, func(a, b Branch) int { return strings.Compare(string(a.Ref), string(b.Ref)) })
	h := sha256.New()
	for _, br := range branches {
		fmt.Fprintf(h, "%s %s\n", br.Ref, br.Commit) // never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}
