package mirror

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/pipeline/mirror/internal/ondisk"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Branch is a branch, as of the last fetch.
type Branch struct {
	Ref    code.Ref
	Commit code.CommitID
	// Time is the committer's time.
	Time time.Time
}

// branchFormat includes the commit time in seconds.
const branchFormat = "%(objectname) %(objecttype) %(committerdate:unix) %(refname)"

// Branches returns the branches of the mirror, as of the last fetch. For a copy of a
// repository on disk, it adds branches that exist only in that repository, as they are
// now. These are the branches that Resolve would find. It omits a branch that is not a
// commit, or whose name cannot be passed to git. It fails with ErrMissing if there is no
// mirror.
func (m *Mirror) Branches(ctx context.Context) ([]Branch, error) {
	if !m.hasRepository() {
		return nil, m.wrapError("list branches of", ErrMissing)
	}
	out, err := m.ms.git.readOutput(ctx, command{gitDir: m.gitDir(), limit: maxRefsOutput, args: []string{"for-each-ref", "--format=" + branchFormat, branchPrefix}})
	if err != nil {
		return nil, m.wrapError("list branches of", err)
	}
	var branches []Branch
	for line := range bytes.Lines(out) {
		if b, ok := parseBranch(strings.TrimSuffix(string(line), "\n")); ok {
			branches = append(branches, b)
		}
	}
	others, err := m.findOnDisk(ctx, func(ctx context.Context, repo *ondisk.Repository) (ondisk.Refs, error) {
		return repo.List(ctx, branchPrefix)
	})
	if err != nil {
		return branches, nil // moved or deleted
	}
	for _, b := range branches {
		delete(others, b.Ref)
	}
	maps.DeleteFunc(others, func(ref code.Ref, _ code.CommitID) bool { return ref.Validate() != nil })
	unselected, err := m.readBranches(ctx, others)
	if err != nil {
		return nil, m.wrapError("list branches of", err)
	}
	return append(branches, unselected...), nil
}

// readBranches returns the branches in refs by name. It omits a branch that is not a
// commit, or whose commit has not been copied yet.
func (m *Mirror) readBranches(ctx context.Context, refs ondisk.Refs) ([]Branch, error) {
	reader, err := m.Reader(ctx)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	var branches []Branch
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		c, err := reader.commit(ctx, string(refs[ref]))
		if errors.Is(err, ErrMissing) || err == nil && c.ID != refs[ref] {
			continue
		} else if errors.Is(err, errDied) && context.Cause(ctx) == nil {
			return branches, nil // git cannot read the commit: the list ends here
		} else if err != nil {
			return nil, err
		}
		branches = append(branches, Branch{Ref: ref, Commit: c.ID, Time: c.Time})
	}
	return branches, nil
}

func parseBranch(line string) (Branch, bool) {
	fields := strings.SplitN(line, " ", 4)
	if len(fields) != 4 || fields[1] != "commit" {
		return Branch{}, false
	}
	b := Branch{Ref: code.Ref(fields[3]), Commit: code.CommitID(fields[0]), Time: parseSeconds(fields[2])}
	return b, b.Ref.Validate() == nil && validateCommit(b.Commit) == nil
}
