package mirror

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// maxFirstParents bounds the commits of a history that Root passes.
const maxFirstParents = 4 << 20

// familyName is a file next to the bare repository.
const familyName = "family"

// Root returns the commit without parents that one comes to from a commit by the first
// parent of each: that of a fork is that of the repository it was made of. It costs a
// few microseconds for each commit on the way, and fails with ErrTooLarge behind
// maxFirstParents of them.
func (m *Mirror) Root(ctx context.Context, commit code.CommitID) (root code.CommitID, err error) {
	if err := validateCommit(commit); err != nil {
		return "", m.wrapError("read", err)
	}
	args := []string{"rev-list", "--first-parent", fmt.Sprintf("--max-count=%d", maxFirstParents+1), "--end-of-options", string(commit)}
	passed := 0
	err = m.ms.git.streamOutput(ctx, command{gitDir: m.gitDir(), args: args}, func(r io.Reader) error {
		lines, last := bufio.NewScanner(r), ""
		for lines.Scan() {
			passed++
			last = lines.Text()
		}
		if err := lines.Err(); err != nil {
			return fmt.Errorf("%w: the list of commits ends early: %w", ErrGit, err)
		}
		root, err = code.ParseCommitID(last)
		return err
	})
	if err == nil && passed > maxFirstParents {
		err = fmt.Errorf("more than %d commits: %w", maxFirstParents, ErrTooLarge)
	}
	if err != nil {
		return "", m.wrapError("find the root of", err)
	}
	return root, nil
}

// Family returns what SaveFamily stored: the commit that names the family of the
// repository, empty if it has none; known is false if nothing was stored.
func (m *Mirror) Family() (root code.CommitID, known bool) {
	b, err := readSmall(filepath.Join(m.dir, familyName))
	if err != nil {
		return "", false
	}
	text := strings.TrimSpace(string(b))
	if text == "" {
		return "", true
	}
	root, err = code.ParseCommitID(text)
	return root, err == nil
}

// FamilySince returns when SaveFamily stored what Family returns; zero for nothing.
func (m *Mirror) FamilySince() time.Time {
	info, err := os.Stat(filepath.Join(m.dir, familyName))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// SaveFamily stores the root of the history next to the mirror; an empty one says that the
// repository has no family. It is lost with the mirror.
func (m *Mirror) SaveFamily(root code.CommitID) error {
	if err := writeFile(filepath.Join(m.dir, familyName), []byte(string(root)+"\n")); err != nil {
		return m.wrapError("save the family of", err)
	}
	return nil
}

// ForgetFamily removes what SaveFamily stored.
func (m *Mirror) ForgetFamily() error {
	if err := os.Remove(filepath.Join(m.dir, familyName)); err != nil && !os.IsNotExist(err) {
		return m.wrapError("forget the family of", err)
	}
	return nil
}
