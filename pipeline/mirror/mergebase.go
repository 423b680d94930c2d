package mirror

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// MergeBase returns the best common ancestor of two commits. The error wraps
// ErrRefNotFound if they have none.
func (m *Mirror) MergeBase(ctx context.Context, a, b code.CommitID) (code.CommitID, error) {
	if err := errors.Join(validateCommit(a), validateCommit(b)); err != nil {
		return "", m.wrapError("compare", err)
	}
	out, err := m.ms.git.readOutput(ctx, command{gitDir: m.gitDir(), args: []string{"merge-base", "--end-of-options", string(a), string(b)}})
	if status, ok := errors.AsType[*exec.ExitError](err); ok && status.ExitCode() == 1 && !errors.Is(err, ErrMissing) {
		return "", fmt.Errorf("%s and %s have no common ancestor: %w", a, b, ErrRefNotFound)
	}
	if err != nil {
		return "", m.wrapError("find the common ancestor in", err)
	}
	return code.ParseCommitID(strings.TrimSpace(string(out)))
}
