package e2e

import (
	"crypto/sha1"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// hostTree is a work tree of a repository on a code host, and the server that has indexed
// the repository.
type hostTree struct {
	t          *testing.T
	dir        string
	server     *server
	repository string
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *hostTree) must(err error) {
	w.t.Helper()
	must(w.t, err)
}

func (w *hostTree) git(args ...string) {
	w.t.Helper()
	w.must(runGit(w.dir, args...))
}

// commit adds and commits a file that contains the word. It returns the commit.
func (w *hostTree) commit(word string) string {
	w.t.Helper()
	w.must(os.WriteFile(filepath.Join(w.dir, word+".txt"), []byte("here is a "+word+"\n"), 0o600))
	w.git("add", "-A")
	// Gerrit requires a change ID in the message of a commit that is pushed for review.
	w.git("commit", "-q", "-m", fmt.Sprintf("%s\n\nChange-Id: I%x", word, sha1.Sum([]byte(word))))
	return commitOf(w.dir, "HEAD")
}

// push pushes to the host from which the tree was cloned.
func (w *hostTree) push(refspecs ...string) {
	w.t.Helper()
	w.git(append([]string{"push", "-q", "origin"}, refspecs...)...)
}

// await waits until a query in the repository has the given number of matches. It queries
// as the operator, because some hosts do not report whether a repository is public.
func (w *hostTree) await(query string, want int) {
	w.t.Helper()
	got, err := 0, error(nil)
	if !pollUntil(func() bool {
		got, err = countMatches(w.server.url, query+` repo:^`+w.repository+`$`)
		return err == nil && got == want
	}) {
		w.t.Fatalf("%s in %s: %d matches, %v, want %d\n%s", query, w.repository, got, err, want, w.server.output)
	}
}
