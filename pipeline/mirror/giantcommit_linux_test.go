package mirror_test

import (
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestGiantCommitIsNotInflated requests a commit whose file of a few megabytes inflates
// to more than git may allocate.
func TestGiantCommitIsNotInflated(t *testing.T) {
	repo := gittest.New(t)
	small := repo.CommitFiles("a.txt", "1\n")
	giant := writeGiantCommit(t, filepath.Join(repo.Dir, ".git", "objects"), 600<<20)
	ms := open(t, mirror.Options{})
	m := ms.Mirror(1)
	r := repo.Code("giant")
	r.ID = 1
	if _, err := m.Fetch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Commit(t.Context(), giant); err == nil {
		t.Error("the giant commit was read")
	}
	if c, err := m.Commit(t.Context(), small); err != nil || c.ID != small {
		t.Errorf("the commit next to it: %v, %v", c, err)
	}
	if err := ms.Close(); err != nil {
		t.Fatal(err)
	}
	var children syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &children); err != nil {
		t.Fatal(err)
	}
	if largest := children.Maxrss << 10; largest > 256<<20 {
		t.Errorf("a process of git took %d bytes of memory", largest)
	}
}

// writeGiantCommit writes a loose commit with a message of size bytes.
func writeGiantCommit(t *testing.T, objects string, size int) code.CommitID {
	t.Helper()
	path := filepath.Join(t.TempDir(), "object")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha1.New()
	err = errors.Join(deflateCommit(f, sum, size), f.Close())
	if err != nil {
		t.Fatal(err)
	}
	name := hex.EncodeToString(sum.Sum(nil))
	to := filepath.Join(objects, name[:2], name[2:])
	if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.Rename(path, to)); err != nil {
		t.Fatal(err)
	}
	return code.CommitID(name)
}

func deflateCommit(f io.Writer, sum hash.Hash, size int) error {
	const header = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor A <a@example.com> 1 +0000\ncommitter A <a@example.com> 1 +0000\n\n"
	z, err := zlib.NewWriterLevel(f, zlib.BestSpeed)
	if err != nil {
		return err
	}
	w := io.MultiWriter(z, sum)
	if _, err := fmt.Fprintf(w, "commit %d\x00%s", len(header)+size, header); err != nil {
		return err
	}
	zeros := make([]byte, 1<<20)
	for range size / len(zeros) {
		if _, err := w.Write(zeros); err != nil {
			return err
		}
	}
	return z.Close()
}
