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

// maxFirstParents bounds the number of commits that Root follows.
const maxFirstParents = 4 << 20

// familyName is a file next to the bare repository.
const familyName = "family"

// Root returns the root commit that is reached from a commit through first parents. A
// fork has the same root as the repository that it was forked from. The cost is a few
// microseconds for each commit on the way; Root fails with ErrTooLarge after
// maxFirstParents commits.
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

// Family returns the value stored by SaveFamily: the commit that identifies the family of
// the repository, empty if it has none; known is false if nothing is stored.
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

// FamilySince returns when SaveFamily stored the current value; zero if nothing is
// stored.
func (m *Mirror) FamilySince() time.Time {
	info, err := os.Stat(filepath.Join(m.dir, familyName))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// SaveFamily stores the root commit of the history next to the mirror; an empty one means
// that the repository has no family. It is lost with the mirror.
func (m *Mirror) SaveFamily(root code.CommitID) error {
	if err := writeFile(filepath.Join(m.dir, familyName), []byte(string(root)+"\n")); err != nil {
		return m.wrapError("save the family of", err)
	}
	return nil
}

// ForgetFamily removes the value stored by SaveFamily.
func (m *Mirror) ForgetFamily() error {
	if err := os.Remove(filepath.Join(m.dir, familyName)); err != nil && !os.IsNotExist(err) {
		return m.wrapError("forget the family of", err)
	}
	return nil
}
