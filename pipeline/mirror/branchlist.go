package mirror

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Branch is a branch as last fetched.
type Branch struct {
	Ref    code.Ref
	Commit code.CommitID
	// Time is the committer's.
	Time time.Time
}

// branchFormat has the time of a commit in seconds.
const branchFormat = "%(objectname) %(objecttype) %(committerdate:unix) %(refname)"

// Branches returns the branches of the mirror as last fetched, and those that only
// the repository has from which it borrows its objects, as they are now; what
// Resolve would find. One that is no commit, or has a name that we would not hand to
// git, is left out. It fails with ErrMissing if there is no mirror.
func (m *Mirror) Branches(ctx context.Context) ([]Branch, error) {
	if !m.exists() {
		return nil, m.wrap("list branches of", ErrMissing)
	}
	branches, err := m.branchesOf(ctx, m.gitDir())
	if err != nil {
		return nil, m.wrap("list branches of", err)
	}
	objects, err := readSmall(m.alternates())
	if err != nil {
		return branches, nil // it borrows nothing
	}
	others, err := m.branchesOf(ctx, filepath.Dir(strings.TrimSuffix(string(objects), "\n")))
	if err != nil {
		return branches, nil // moved or gone
	}
	known := make(map[code.Ref]bool, len(branches))
	for _, b := range branches {
		known[b.Ref] = true
	}
	others = slices.DeleteFunc(others, func(b Branch) bool { return known[b.Ref] })
	return append(branches, others...), nil
}

func (m *Mirror) branchesOf(ctx context.Context, gitDir string) ([]Branch, error) {
	out, err := m.ms.git.output(ctx, command{gitDir: gitDir, limit: maxRefsOutput, args: []string{"for-each-ref", "--format=" + branchFormat, branchPrefix}})
	if err != nil {
		return nil, err
	}
	var branches []Branch
	for line := range bytes.Lines(out) {
		if b, ok := parseBranch(strings.TrimSuffix(string(line), "\n")); ok {
			branches = append(branches, b)
		}
	}
	return branches, nil
}

func parseBranch(line string) (Branch, bool) {
	fields := strings.SplitN(line, " ", 4)
	if len(fields) != 4 || fields[1] != "commit" {
		return Branch{}, false
	}
	seconds, err := strconv.ParseInt(fields[2], 10, 64)
	b := Branch{Ref: code.Ref(fields[3]), Commit: code.CommitID(fields[0]), Time: time.Unix(seconds, 0).UTC()}
	return b, err == nil && b.Ref.Validate() == nil && validateCommit(b.Commit) == nil
}
