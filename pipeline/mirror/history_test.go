package mirror_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// oddHistory returns a repository with rare cases: renames, names that are not UTF-8 or
// contain a line feed, a submodule, links, a binary file, and files that change their
// type, mode or last line feed.
func oddHistory(t *testing.T) (*gittest.Repository, map[string]code.CommitID) {
	repo := gittest.New(t)
	commits := map[string]code.CommitID{}
	lines := func(changed int) string {
		var b strings.Builder
		for i := range 30 {
			if i == changed {
				b.WriteString("changed ")
			}
			fmt.Fprintf(&b, "line %d\n", i)
		}
		return b.String()
	}
	commits["one"] = repo.CommitFiles("src/old.txt", lines(-1), "src/deep/a.txt", "a\n", "caf\xe9.txt", "coffee\n", "line\nfeed \"x\".txt", "lf\n", "blob.bin", "\x00\x01",
		"run.sh", "#!/bin/sh\n", "kind", "a file\n", "end.txt", "no line feed", "empty.txt", "", "--output=x", "dash\n", "*", "star\n", "src/:(top)", "magic\n")
	repo.Git("mv", "src/old.txt", "src/new.txt")
	commits["two"] = repo.CommitFiles("src/new.txt", lines(3))
	commits["three"] = repo.CommitFiles("src/new.txt", lines(20), "caf\xe9.txt", "more coffee\n")
	repo.Git("update-index", "--add", "--cacheinfo", "160000,"+string(commits["one"])+",vendor/sub")
	if err := errors.Join(os.Remove(filepath.Join(repo.Dir, "kind")), os.Symlink("run.sh", filepath.Join(repo.Dir, "kind")), os.Chmod(filepath.Join(repo.Dir, "run.sh"), 0o755),
		os.MkdirAll(filepath.Join(repo.Dir, "vendor/sub"), 0o755)); err != nil {
		t.Fatal(err)
	}
	repo.Remove("src/deep")
	repo.Write("end.txt", "a line feed\n")
	repo.Write("blob.bin", "\x00\x02")
	repo.Git("add", "--", "kind", "run.sh", "src", "end.txt", "blob.bin")
	repo.Git("commit", "--quiet", "--message", "four: it's <odd>\n\nA body\nof two lines.\n")
	commits["four"] = code.CommitID(repo.Git("rev-parse", "HEAD"))
	return repo, commits
}

// TestHistory runs the scripts of testdata/history on oddHistory. Commits are one to
// four, NAME~1 works, and objects are shown by their first 7 characters.
//
//	ls COMMIT [path]
//	cat COMMIT path
//	paths COMMIT
//	log COMMIT [path=…] [follow] [message=…] [author=…] [skip=…] [limit=…]
//	authors COMMIT [path=…]
//	blame COMMIT path
//	diff COMMIT COMMIT [path=…]
//	resolve NAME
func TestHistory(t *testing.T) {
	repo, commits := oddHistory(t)
	r := repo.Code("r")
	m := open(t, mirror.Options{}).Mirror(r.ID)
	if _, err := m.Fetch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	h := &historyScript{t: t, m: m, commits: commits}
	datadriven.Walk(t, "testdata/history", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			h.out.Reset()
			if err := h.run(d); err != nil {
				fmt.Fprintf(&h.out, "error: %v\n", err)
			}
			return h.shortenCommits(h.out.String())
		})
	})
}

type historyScript struct {
	t       *testing.T
	m       *mirror.Mirror
	commits map[string]code.CommitID
	out     strings.Builder
}

func (h *historyScript) run(d *datadriven.TestData) error {
	if d.Cmd == "resolve" {
		return h.resolve(d.Input)
	}
	ctx := h.t.Context()
	commit := h.commit(d.CmdArgs[0].Key)
	path, q := "", mirror.LogQuery{Commit: commit, Limit: 100}
	for _, a := range d.CmdArgs[1:] {
		switch a.Key {
		case "path":
			q.Path = a.Vals[0]
		case "follow":
			q.Follow = true
		case "lines":
			d.ScanArgs(h.t, "lines", &q.FirstLine, &q.LastLine)
		case "message":
			q.Message = a.Vals[0]
		case "author":
			q.Author = a.Vals[0]
		case "skip":
			d.ScanArgs(h.t, "skip", &q.Skip)
		case "limit":
			d.ScanArgs(h.t, "limit", &q.Limit)
		default:
			path = a.Key
		}
	}
	if d.Input != "" {
		path = d.Input
	}
	switch d.Cmd {
	case "ls", "cat":
		return h.read(d.Cmd, commit, path)
	case "paths":
		return h.m.ListPaths(ctx, commit, func(path string, e mirror.Entry) error {
			fmt.Fprintf(&h.out, "%06o %s %q\n", e.Mode, e.ID, code.SpellPath(path))
			return nil
		})
	case "log":
		return h.log(q)
	case "authors":
		authors, err := h.m.Authors(ctx, q)
		fmt.Fprintf(&h.out, "%+v\n", authors)
		return err
	case "blame":
		return h.blame(commit, path)
	case "diff":
		return h.diff(commit, h.commit(path), q.Path)
	}
	return fmt.Errorf("unknown command %s", d.Cmd)
}

func (h *historyScript) commit(name string) code.CommitID {
	id, ok := h.commits[name]
	if !ok {
		h.t.Fatalf("unknown commit %s", name)
	}
	return id
}

func (h *historyScript) shortenCommits(s string) string {
	for name, id := range h.commits {
		s = strings.ReplaceAll(s, string(id), name)
	}
	return s
}

func (h *historyScript) resolve(names string) error {
	for in := range strings.Lines(names) {
		in = strings.TrimSuffix(in, "\n")
		for name, id := range h.commits {
			in = strings.ReplaceAll(in, "<"+name+">", string(id))
		}
		name, err := code.ParseRevisionName(in)
		if err == nil {
			var c mirror.Commit
			if c, err = h.m.Resolve(h.t.Context(), name, "refs/heads/main"); err == nil {
				fmt.Fprintf(&h.out, "%s: %s\n", in, c.ID)
				continue
			}
		}
		fmt.Fprintf(&h.out, "%s: %v\n", in, errors.Is(err, mirror.ErrRefNotFound))
	}
	return nil
}

func (h *historyScript) read(how string, commit code.CommitID, path string) error {
	ctx := h.t.Context()
	r, err := h.m.Reader(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	name, _ := code.ParseRevisionName(string(commit))
	c, err := r.Resolve(ctx, name, "")
	if err != nil {
		return err
	}
	n, raw, err := r.Find(ctx, c.Tree, path)
	if err != nil {
		return err
	}
	if how == "cat" {
		content, size, err := r.Blob(ctx, n.ID, 200)
		fmt.Fprintf(&h.out, "%q: %d bytes %q\n", raw, size, content)
		return err
	}
	names, err := r.Directory(ctx, n.ID)
	for _, n := range names {
		fmt.Fprintf(&h.out, "%06o %s %q\n", n.Mode, n.ID, code.SpellPath(n.Raw))
	}
	return err
}

func (h *historyScript) log(q mirror.LogQuery) error {
	entries, err := h.m.Log(h.t.Context(), q)
	for _, e := range entries {
		fmt.Fprintf(&h.out, "%s %s %v %q %q %q %q\n", e.ID, e.Date, e.Parents, e.AuthorName+" "+e.AuthorEmail, e.Refs, e.Subject, e.Body)
	}
	if err != nil {
		return err
	}
	n, err := h.m.CountLog(h.t.Context(), q)
	fmt.Fprintf(&h.out, "%d in all\n", n)
	return err
}

func (h *historyScript) blame(commit code.CommitID, path string) error {
	b, err := h.m.Blame(h.t.Context(), commit, path, 1000)
	if err != nil {
		return err
	}
	for _, r := range b.Ranges {
		c := b.Commits[r.Commit]
		fmt.Fprintf(&h.out, "%d+%d %s %q by %s <%s> %d %q before: %s %q\n", r.Start, r.Lines, r.Commit, r.Path, c.AuthorName, c.AuthorEmail, c.Time.Unix(), c.Subject, c.Previous, c.PreviousPath)
	}
	return nil
}

func (h *historyScript) diff(before, after code.CommitID, path string) error {
	files, err := h.m.Diff(h.t.Context(), before, after, path, 10_000)
	for _, f := range files {
		fmt.Fprintf(&h.out, "%q -> %q\n", f.Old, f.New)
		for _, hunk := range f.Hunks {
			fmt.Fprintf(&h.out, "  %v %v %q\n%s\n", hunk.Old, hunk.New, hunk.Heading, hunk.Body)
		}
	}
	return err
}

func TestDiffIsBounded(t *testing.T) {
	repo, commits := oddHistory(t)
	r := repo.Code("r")
	m := open(t, mirror.Options{}).Mirror(r.ID)
	if _, err := m.Fetch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Diff(t.Context(), commits["one"], commits["four"], "", 500); !errors.Is(err, mirror.ErrTooLarge) {
		t.Errorf("a long difference: %v", err)
	}
	if _, err := m.Blame(t.Context(), commits["four"], "src/new.txt", 100); !errors.Is(err, mirror.ErrTooLarge) {
		t.Errorf("blame of a long file: %v, want %v", err, mirror.ErrTooLarge)
	}
	if _, err := m.Blame(t.Context(), commits["four"], "../../etc/passwd", 100); !errors.Is(err, mirror.ErrNoPath) {
		t.Errorf("blame of a path outside: %v, want %v", err, mirror.ErrNoPath)
	}
	for _, path := range []string{"../x", "/etc/passwd", "a\x00b", strings.Repeat("a", 100_000)} {
		if _, err := m.Log(t.Context(), mirror.LogQuery{Commit: commits["four"], Path: path, Limit: 1}); err == nil {
			t.Errorf("log of %.20q: no error", path)
		}
		if _, err := m.Diff(t.Context(), commits["one"], commits["four"], path, 10_000); err == nil {
			t.Errorf("diff of %.20q: no error", path)
		}
	}
	for _, commit := range []code.CommitID{"", "HEAD", "--all", "main", code.CommitID(strings.Repeat("0", 40))} {
		if _, err := m.Log(t.Context(), mirror.LogQuery{Commit: commit, Limit: 1}); err == nil {
			t.Errorf("log of commit %q: no error", commit)
		}
	}
}

// In a repository that is read by path, refs that are not mirrored can also be named.
func TestResolveAsksTheRepositoryOnDisk(t *testing.T) {
	repo := gittest.New(t)
	first := repo.CommitFiles("a.txt", "a\n")
	repo.Git("tag", "--annotate", "--message", "one", "v1")
	repo.CommitFiles("a.txt", "b\n")
	repo.Git("checkout", "--quiet", "-b", "side")
	side := repo.CommitFiles("a.txt", "c\n")
	repo.Git("update-ref", "refs/hidden/x", string(side))
	repo.Git("checkout", "--quiet", "main")
	r := repo.Code("r")
	m := open(t, mirror.Options{}).Mirror(r.ID)
	if _, err := m.Fetch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]code.CommitID{
		"v1": first, "tags/v1": first, "refs/tags/v1": first, "side": side, "side~2": first, "v2": "", "refs/hidden/x": "", "side~9": "",
	} {
		name, err := code.ParseRevisionName(in)
		if err != nil {
			t.Fatal(err)
		}
		c, err := m.Resolve(t.Context(), name, "")
		if c.ID != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, mirror.ErrRefNotFound) {
			t.Errorf("%s: %s, %v; want %s", in, c.ID, err, want)
		}
	}
	branches, err := m.Branches(t.Context())
	if err != nil || len(branches) != 2 || branches[0].Ref != "refs/heads/main" || branches[1].Ref != "refs/heads/side" || branches[1].Commit != side || branches[1].Time.IsZero() {
		t.Errorf("branches: %+v, %v", branches, err)
	}
	if _, err := open(t, mirror.Options{}).Mirror(7).Branches(t.Context()); !errors.Is(err, mirror.ErrMissing) {
		t.Errorf("branches of no mirror: %v", err)
	}
}
