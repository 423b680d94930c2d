//go:build unix

package permissions

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// makeTree creates files with the given modes. Names with a trailing slash become
// directories.
func makeTree(t *testing.T, root string, modes map[string]fs.FileMode) {
	t.Helper()
	for name, mode := range modes {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		if name[len(name)-1] == '/' {
			err = os.MkdirAll(path, 0o700)
		} else {
			err = os.WriteFile(path, nil, 0o600)
		}
		if err = errors.Join(err, os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
}

func modeOf(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestCloseBelow(t *testing.T) {
	root, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
	if err := errors.Join(os.Chmod(root, 0o755), os.WriteFile(outside, nil, 0o600), os.Chmod(outside, 0o644)); err != nil {
		t.Fatal(err)
	}
	makeTree(t, root, map[string]fs.FileMode{
		"a/": 0o755, "a/text": 0o644, "a/b/": 0o2770, "a/b/object": 0o444, "a/b/program": 0o755, "private": 0o600, "closed/": 0o700, "closed/open": 0o604,
	})
	if err := errors.Join(os.Symlink(outside, filepath.Join(root, "link")), os.Symlink(filepath.Dir(outside), filepath.Join(root, "directory"))); err != nil {
		t.Fatal(err)
	}
	var c Closer
	if err := c.CloseBelow(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{
		".": 0o755, "a": 0o700, "a/text": 0o600, "a/b": 0o700, "a/b/object": 0o400, "a/b/program": 0o700, "private": 0o600, "closed": 0o700, "closed/open": 0o600,
	} {
		if got := modeOf(t, filepath.Join(root, name)); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got := modeOf(t, outside); got != 0o644 {
		t.Errorf("a file that a link names became %v", got)
	}
	if c.Looked != 8 || c.Closed != 6 || c.Failed != 0 || c.Truncated || c.First.Path != filepath.Join(root, "a") || c.First.Octal() != "0755" {
		t.Errorf("%+v", c)
	}
	c = Closer{}
	if err := c.CloseBelow(t.Context(), root); err != nil || c.Closed != 0 || c.Looked != 8 {
		t.Errorf("a second time: %+v, %v", c, err)
	}
}

// TestCloseBelowForeign checks that files of another user are reported but not changed.
func TestCloseBelowForeign(t *testing.T) {
	if os.Geteuid() != 0 && os.Getenv("QUARRY_REQUIRE_ALL") != "1" {
		t.Skip("only root can make files of another user")
	}
	root := t.TempDir()
	makeTree(t, root, map[string]fs.FileMode{"mine": 0o644, "theirs": 0o640})
	if err := os.Chown(filepath.Join(root, "theirs"), 12345, -1); err != nil {
		t.Fatal(err)
	}
	var c Closer
	if err := c.CloseBelow(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	if got := modeOf(t, filepath.Join(root, "theirs")); got != 0o640 {
		t.Errorf("a file of another user became %v", got)
	}
	if c.Closed != 1 || c.Failed != 1 || c.FirstFailed.Path != filepath.Join(root, "theirs") || c.Err == nil {
		t.Errorf("%+v", c)
	}
}

func TestCloseBelowIsBounded(t *testing.T) {
	root := t.TempDir()
	makeTree(t, root, map[string]fs.FileMode{"1": 0o644, "2": 0o644, "3": 0o644})
	c := Closer{max: 2}
	if err := c.CloseBelow(t.Context(), root); err != nil || !c.Truncated || c.Looked != 2 || modeOf(t, filepath.Join(root, "3")) != 0o644 {
		t.Errorf("%+v, %v", c, err)
	}
	c = Closer{max: 3}
	if err := c.CloseBelow(t.Context(), root); err != nil || c.Truncated {
		t.Errorf("as many as the bound: %+v, %v", c, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.CloseBelow(ctx, root); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v, want %v", err, context.Canceled)
	}
	if err := c.CloseBelow(t.Context(), filepath.Join(root, "none")); err != nil {
		t.Errorf("a directory that is not there: %v", err)
	}
}

func TestCloseEntry(t *testing.T) {
	root := t.TempDir()
	makeTree(t, root, map[string]fs.FileMode{"a/": 0o755, "a/text": 0o644, "b/": 0o755})
	if err := os.Symlink(filepath.Join(root, "b"), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	var c Closer
	for _, name := range []string{"a", "link", "none"} {
		c.CloseEntry(filepath.Join(root, name))
	}
	if modeOf(t, filepath.Join(root, "a")) != 0o700 || modeOf(t, filepath.Join(root, "a/text")) != 0o644 || modeOf(t, filepath.Join(root, "b")) != 0o755 || c.Closed != 1 {
		t.Errorf("%+v", c)
	}
}

func TestOpen(t *testing.T) {
	root := t.TempDir()
	makeTree(t, root, map[string]fs.FileMode{"d/": 0o755, "w/": 0o1777, "p/": 0o700, "f": 0o640, "g": 0o604})
	for name, want := range map[string]struct {
		open, write, everybody bool
		command                string
	}{
		"d": {true, false, true, "chmod 700 " + root + "/d"}, "w": {true, true, true, "chmod 700 " + root + "/w"},
		"p": {false, false, false, ""}, "f": {true, false, false, "chmod 600 " + root + "/f"}, "g": {true, false, true, "chmod 600 " + root + "/g"},
	} {
		a, open, err := Open(filepath.Join(root, name))
		if err != nil || open != want.open || a.Writable() != want.write || a.ReadableByEverybody() != want.everybody || open && a.Command() != want.command {
			t.Errorf("%s: %v %v %v %v %q", name, open, err, a.Writable(), a.ReadableByEverybody(), a.Command())
		}
	}
	if _, _, err := Open(filepath.Join(root, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestQuote(t *testing.T) {
	for path, want := range map[string]string{
		"/srv/quarry": "/srv/quarry", "/srv/a b": "'/srv/a b'", "/it's": `'/it'\''s'`, "-rf": "'./-rf'", "/a$(id)": "'/a$(id)'", "": "''",
	} {
		if got := quoteShell(path); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
}
