package source_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	indexedCommit = code.CommitID(strings.Repeat("1", 40))
	newerCommit   = code.CommitID(strings.Repeat("2", 40))
	olderCommit   = code.CommitID(strings.Repeat("3", 40))
	kettle        = &code.Repository{ID: 42, Name: "kettle", DefaultBranch: "trunk"}
)

// fakeIndex has refs/heads/trunk at indexedCommit, with the files a.txt and dir/b.txt,
// and large.txt without its text.
type fakeIndex struct{ open atomic.Int64 }

func (x *fakeIndex) Snapshot(context.Context, code.RepositoryID) (source.Snapshot, error) {
	x.open.Add(1)
	return x, nil
}

func (x *fakeIndex) Release()                         { x.open.Add(-1) }
func (*fakeIndex) Default(code.RepositoryID) code.Ref { return "refs/heads/trunk" }
func (*fakeIndex) Commit(_ code.RepositoryID, ref code.Ref) code.CommitID {
	if ref == "refs/heads/trunk" {
		return indexedCommit
	}
	return ""
}

func (*fakeIndex) RefAt(_ code.RepositoryID, commit code.CommitID) code.Ref {
	if commit == indexedCommit {
		return "refs/heads/trunk"
	}
	return ""
}

func (*fakeIndex) Branches(code.RepositoryID) []source.Branch {
	return []source.Branch{
		{Ref: "refs/heads/trunk", Commit: indexedCommit, Time: time.Unix(200, 0)},
		{Ref: "refs/tags/v1", Commit: indexedCommit, Time: time.Unix(100, 0)}, {Ref: "refs/tags/v2", Commit: newerCommit, Time: time.Unix(300, 0)},
	}
}

func (*fakeIndex) File(_ context.Context, _ code.RepositoryID, _ code.Ref, path string) (source.File, error) {
	switch path {
	case "a.txt", "dir/b.txt":
		return source.File{Text: []byte("indexed")}, nil
	case "large.txt":
		return source.File{}, &source.SkippedError{Reason: code.SkipTooLarge}
	case "sub":
		return source.File{}, source.ErrSubmodule
	}
	return source.File{}, source.ErrNoPath
}

func (*fakeIndex) List(_ context.Context, _ code.RepositoryID, _ code.Ref, path string, _ int) ([]source.Entry, error) {
	switch path {
	case "":
		return []source.Entry{{Name: "a.txt", Kind: source.KindBlob}, {Name: "dir", Kind: source.KindTree}}, nil
	case "dir":
		return []source.Entry{{Name: "b.txt", Kind: source.KindBlob}}, nil
	case "unreachable":
		return nil, errUnreachable
	}
	return nil, source.ErrNoPath
}

func (*fakeIndex) Files(context.Context, code.RepositoryID, code.Ref, int) ([]string, error) {
	return []string{"a.txt", "dir/b.txt", "large.txt"}, nil
}

var errUnreachable = errors.New("the index cannot be reached")

// fakeGit records its calls.
type fakeGit struct {
	source.Git
	asked []string
	block bool
	slow  time.Duration
}

func (g *fakeGit) recordCall(ctx context.Context, format string, args ...any) error {
	g.asked = append(g.asked, fmt.Sprintf(format, args...))
	if g.slow > 0 {
		<-time.After(g.slow)
	}
	if g.block {
		<-ctx.Done()
		return errors.New("git was killed")
	}
	return nil
}

func (g *fakeGit) Resolve(ctx context.Context, _ code.RepositoryID, name code.RevisionName, head code.Ref) (code.CommitID, error) {
	if err := g.recordCall(ctx, "resolve %v %q %q %s", name.Refs, name.Commit, name.Steps, head); err != nil {
		return "", err
	}
	switch {
	case name.Commit != "" && name.Steps == "":
		return code.CommitID(name.Commit), nil
	case name.Commit == string(indexedCommit):
		return olderCommit, nil
	case slices.Contains(name.Refs, "refs/heads/side"):
		return newerCommit, nil
	case slices.Contains(name.Refs, "refs/heads/alias"):
		return indexedCommit, nil
	}
	return "", source.ErrNoRevision
}

// Reach knows trunk, which leads to olderCommit; side is in the mirror and leads to
// newerCommit.
func (g *fakeGit) Reach(ctx context.Context, _ code.RepositoryID, commit code.CommitID, _ []code.Revision) (source.Reach, error) {
	reach := source.ReachNone
	switch commit {
	case olderCommit:
		reach = source.ReachIndexed
	case newerCommit:
		reach = source.ReachFetched
	}
	return reach, g.recordCall(ctx, "reach %.3s", commit)
}

func (g *fakeGit) Branches(ctx context.Context, _ code.RepositoryID) ([]source.Branch, error) {
	return []source.Branch{
		{Ref: "refs/heads/side", Commit: newerCommit, Time: time.Unix(300, 0)},
		{Ref: "refs/heads/trunk", Commit: newerCommit, Time: time.Unix(300, 0)},
		{Ref: "refs/heads/old", Commit: olderCommit, Time: time.Unix(100, 0)},
	}, g.recordCall(ctx, "branches")
}

func (g *fakeGit) File(ctx context.Context, _ code.RepositoryID, commit code.CommitID, path string, max int64) (source.File, error) {
	return source.File{Text: []byte("git")}, g.recordCall(ctx, "file %.3s %s %d", commit, path, max)
}

func (g *fakeGit) Directories(ctx context.Context, _ code.RepositoryID, commit code.CommitID, paths []string, _ int) (map[string][]source.Entry, error) {
	return map[string][]source.Entry{"": {{Name: "git", Kind: source.KindBlob}}}, g.recordCall(ctx, "directories %.3s %q", commit, paths)
}

func (g *fakeGit) Blame(ctx context.Context, _ code.RepositoryID, commit code.CommitID, path string, _ int64) (*source.Blame, error) {
	return &source.Blame{Ranges: []source.BlameRange{{Commit: commit, Path: path, Start: 1, Lines: 1}}}, g.recordCall(ctx, "blame %.3s %s", commit, path)
}

func (g *fakeGit) Log(ctx context.Context, _ code.RepositoryID, q source.LogQuery) ([]source.Commit, error) {
	n := max(0, min(q.Limit, 7-q.Skip)) // a history of seven commits
	return make([]source.Commit, n), g.recordCall(ctx, "log %d+%d", q.Skip, q.Limit)
}

// LastChanges is cut each time but the third.
func (g *fakeGit) LastChanges(ctx context.Context, _ code.RepositoryID, _ code.CommitID, path string, names []string) (
	map[string]source.Commit, bool, error,
) {
	err := g.recordCall(ctx, "last changes %s %q", path, names)
	return map[string]source.Commit{"": {Subject: fmt.Sprint(len(g.asked))}}, len(g.asked) != 3, err
}

func (g *fakeGit) CountLog(context.Context, code.RepositoryID, source.LogQuery) (int, error) {
	return 7, nil
}

func newBrowser(t *testing.T, git source.Git, change func(*source.Options)) (*source.Browser, *fakeIndex) {
	t.Helper()
	index := &fakeIndex{}
	o := source.Options{Index: index, Git: git}
	if change != nil {
		change(&o)
	}
	b, err := source.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if n := index.open.Load(); n != 0 {
			t.Errorf("%d snapshots were not released", n)
		}
	})
	return b, index
}

func TestIndexAnswersForItsRevisions(t *testing.T) {
	for _, tc := range []struct{ revision, path, text, asked string }{
		{"", "a.txt", "indexed", ""},
		{"HEAD", "a.txt", "indexed", ""},
		{"trunk", "a.txt", "indexed", ""},
		{"refs/heads/trunk", "a.txt", "indexed", ""},
		{string(indexedCommit), "a.txt", "indexed", ""},
		{"alias", "a.txt", "indexed", `resolve [refs/heads/alias refs/tags/alias] "" "" refs/heads/trunk`},
		{"trunk", "large.txt", "git", "file 111 large.txt 8388608"},
		{"side", "a.txt", "git", `resolve [refs/heads/side refs/tags/side] "" "" refs/heads/trunk; file 222 a.txt 8388608`},
		{"trunk~2", "a.txt", "git", `resolve [] "1111111111111111111111111111111111111111" "~2" refs/heads/trunk; file 333 a.txt 8388608`},
		{string(newerCommit), "a.txt", "git", fmt.Sprintf(`resolve [refs/heads/%[1]s refs/tags/%[1]s] %[1]q "" refs/heads/trunk; reach 222; file 222 a.txt 8388608`, newerCommit)},
	} {
		git := &fakeGit{}
		b, _ := newBrowser(t, git, nil)
		f, err := b.File(t.Context(), kettle, tc.revision, tc.path)
		if asked := strings.Join(git.asked, "; "); err != nil || string(f.Text) != tc.text || asked != tc.asked {
			t.Errorf("%s at %q: got %q, %v after\n %s; want %q after\n %s", tc.path, tc.revision, f.Text, err, asked, tc.text, tc.asked)
		}
	}
}

// TestReach checks that git is called once to find out whether an indexed ref leads to a
// commit, and each time for another ref, which may be deleted at any time. A commit that
// no ref leads to is not found unless ServeUnreachable is set.
func TestReach(t *testing.T) {
	dropped := code.CommitID(strings.Repeat("4", 40))
	git := &fakeGit{}
	b, _ := newBrowser(t, git, nil)
	for range 2 {
		for _, c := range []struct {
			commit code.CommitID
			want   error
		}{{olderCommit, nil}, {newerCommit, nil}, {dropped, source.ErrNoRevision}} {
			if _, err := b.File(t.Context(), kettle, string(c.commit), "a.txt"); !errors.Is(err, c.want) {
				t.Errorf("%s: %v; want %v", c.commit, err, c.want)
			}
		}
	}
	reached := slices.DeleteFunc(git.asked, func(s string) bool { return !strings.HasPrefix(s, "reach") })
	if got := strings.Join(reached, " "); got != "reach 333 reach 222 reach 444 reach 222 reach 444" {
		t.Errorf("git was asked %s, want \"reach 333 reach 222 reach 444 reach 222 reach 444\"", got)
	}
	b, _ = newBrowser(t, &fakeGit{}, func(o *source.Options) { o.ServeUnreachable = true })
	if _, err := b.File(t.Context(), kettle, string(dropped), "a.txt"); err != nil {
		t.Errorf("with ServeUnreachable: %v", err)
	}
}

func TestErrors(t *testing.T) {
	b, _ := newBrowser(t, &fakeGit{}, nil)
	for _, tc := range []struct {
		revision, path string
		want           error
	}{
		{"nothing", "a.txt", source.ErrNoRevision},
		{"trunk..side", "a.txt", source.ErrInvalidRevision},
		{"--all", "a.txt", source.ErrInvalidRevision},
		{"trunk", "nothing", source.ErrNoPath},
		{"trunk", "dir", source.ErrDirectory},
		{"trunk", "unreachable", errUnreachable}, // it may be a directory
		{"trunk", "sub", source.ErrSubmodule},
		{"trunk", "../a.txt", source.ErrInvalidPath},
		{"trunk", "a\x00b", source.ErrInvalidPath},
	} {
		if _, err := b.File(t.Context(), kettle, tc.revision, tc.path); !errors.Is(err, tc.want) {
			t.Errorf("%q at %q: %v; want %v", tc.path, tc.revision, err, tc.want)
		}
	}
	for _, pattern := range []string{strings.Repeat("a", 2000), "a\nb", `a\{9\}`, "a\x00"} {
		q := source.CommitsRequest{LogQuery: source.LogQuery{Author: pattern, Limit: 1}}
		if _, _, err := b.Commits(t.Context(), kettle, q); !errors.Is(err, source.ErrInvalidPattern) {
			t.Errorf("author %.20q: %v, want %v", pattern, err, source.ErrInvalidPattern)
		}
	}
}

func TestFileSaysWhyItIsSkipped(t *testing.T) {
	b, _ := newBrowser(t, &fakeGit{}, nil)
	for path, want := range map[string]code.SkipReason{"large.txt": code.SkipTooLarge, "a.txt": ""} {
		if f, err := b.File(t.Context(), kettle, "", path); err != nil || f.Skipped != want {
			t.Errorf("%s: skipped %q, %v; want %q", path, f.Skipped, err, want)
		}
	}
}

func TestWithoutMirrorsTheIndexAnswers(t *testing.T) {
	b, _ := newBrowser(t, nil, nil)
	if f, err := b.File(t.Context(), kettle, "", "a.txt"); err != nil || string(f.Text) != "indexed" {
		t.Errorf("an indexed file: %q, %v", f.Text, err)
	}
	if _, err := b.File(t.Context(), kettle, "", "large.txt"); !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("a file without text in the index: %v", err)
	}
	if _, err := b.Blame(t.Context(), kettle, "", "a.txt"); !errors.Is(err, source.ErrUnavailable) {
		t.Errorf("blame: %v, want %v", err, source.ErrUnavailable)
	}
}

func TestTree(t *testing.T) {
	git := &fakeGit{}
	b, _ := newBrowser(t, git, nil)
	root, err := b.Tree(t.Context(), kettle, "trunk", []string{"/dir/", "dir/b.txt", "nothing/at/all", ""})
	if err != nil || len(git.asked) != 0 {
		t.Fatalf("%v, git was asked %q", err, git.asked)
	}
	if got := printTree(root); got != "root:tree(dir:tree(b.txt:blob) a.txt:blob)" {
		t.Errorf("tree %s, want \"root:tree(dir:tree(b.txt:blob) a.txt:blob)\"", got)
	}
	if _, err = b.Tree(t.Context(), kettle, "side", []string{"x/y"}); err != nil || git.asked[1] != `directories 222 ["" "x" "x/y"]` {
		t.Errorf("%v, git was asked %q", err, git.asked)
	}
	if _, err = b.Tree(t.Context(), kettle, "trunk", make([]string, source.MaxTreePaths+1)); !errors.Is(err, source.ErrTooLarge) {
		t.Errorf("many paths: %v, want %v", err, source.ErrTooLarge)
	}
	if _, err = b.Tree(t.Context(), kettle, "trunk", []string{strings.Repeat("d/", 2020) + "x"}); !errors.Is(err, source.ErrTooLarge) {
		t.Errorf("a deep path: %v, want %v", err, source.ErrTooLarge)
	}
}

func printTree(n *source.Node) string {
	out := n.Name + ":" + string(n.Kind)
	if len(n.Children) == 0 {
		return out
	}
	var children []string
	for _, c := range n.Children {
		children = append(children, printTree(c))
	}
	return out + "(" + strings.Join(children, " ") + ")"
}

func TestBlameIsKept(t *testing.T) {
	git := &fakeGit{}
	b, _ := newBrowser(t, git, func(o *source.Options) { o.CacheBytes = 1500 })
	for _, path := range []string{"a", "a", "b", "c", "a", "d", "a", "b"} {
		if _, err := b.Blame(t.Context(), kettle, "", path); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(git.asked, " "); got != "blame 111 a blame 111 b blame 111 c blame 111 d blame 111 b" {
		t.Errorf("git was asked %s, want \"blame 111 a blame 111 b blame 111 c blame 111 d blame 111 b\"", got)
	}
}

// TestCutLastChangesAreReadAgain checks that a list that ran out of time is not kept.
func TestCutLastChangesAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBrowser(t, &fakeGit{}, nil)
		for i, c := range []struct {
			after time.Duration
			want  string
		}{{0, "1"}, {time.Second, "1"}, {2 * time.Minute, "2"}, {2 * time.Minute, "3"}, {24 * time.Hour, "3"}} {
			<-time.After(c.after)
			changes, err := b.LastChanges(t.Context(), kettle, "", "dir", nil)
			if err != nil || changes[""].Subject != c.want {
				t.Errorf("request %d: call %s answered, want %s: %v", i, changes[""].Subject, c.want, err)
			}
		}
	})
}

func TestPagesOfAHistory(t *testing.T) {
	git := &fakeGit{}
	b, _ := newBrowser(t, git, nil)
	for _, tc := range []struct{ skip, limit, commits int }{{0, 3, 3}, {3, 3, 3}, {6, 3, 1}, {9, 3, 0}, {0, 50, 7}} {
		commits, total, err := b.Commits(t.Context(), kettle, source.CommitsRequest{LogQuery: source.LogQuery{Skip: tc.skip, Limit: tc.limit}})
		if err != nil || len(commits) != tc.commits || total != 7 {
			t.Errorf("%d commits behind %d: %d of %d, %v", tc.limit, tc.skip, len(commits), total, err)
		}
	}
}

func TestCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		git := &fakeGit{block: true}
		registry := prometheus.NewRegistry()
		b, _ := newBrowser(t, git, func(o *source.Options) {
			o.MaxReads, o.Timeout, o.MaxWait, o.Registerer = 1, 30*time.Second, 5*time.Second, registry
		})
		first := make(chan error, 1)
		go func() {
			_, err := b.File(t.Context(), kettle, "", "large.txt")
			first <- err
		}()
		synctest.Wait()
		start := time.Now()
		if _, err := b.File(t.Context(), kettle, "", "large.txt"); !errors.Is(err, source.ErrBusy) || time.Since(start) != 5*time.Second {
			t.Errorf("the second call: %v after %s; want ErrBusy after the longest wait", err, time.Since(start))
		}
		if err := <-first; !errors.Is(err, source.ErrTimeout) || time.Since(start) != 30*time.Second {
			t.Errorf("the first call: %v after %s; want ErrTimeout", err, time.Since(start))
		}
		if err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP quarry_source_refused_calls_total Git calls refused because too many were running and waiting, by pool.
# TYPE quarry_source_refused_calls_total counter
quarry_source_refused_calls_total{pool="reads"} 1
quarry_source_refused_calls_total{pool="walks"} 0
`), "quarry_source_refused_calls_total"); err != nil {
			t.Error(err)
		}
	})
}

func TestCallsEndWithTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := newBrowser(t, &fakeGit{block: true}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := b.Blame(ctx, kettle, "", "a.txt")
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
	})
}

// TestConcurrentRequestsShareABlame checks that only one of several concurrent requests
// for a blame runs git.
func TestConcurrentRequestsShareABlame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		git := &fakeGit{slow: time.Second}
		b, _ := newBrowser(t, git, func(o *source.Options) { o.MaxWalks = 1 })
		var group sync.WaitGroup
		for range 5 {
			group.Go(func() {
				if _, err := b.Blame(t.Context(), kettle, "", "a.txt"); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if len(git.asked) != 1 {
			t.Errorf("git was asked %q", git.asked)
		}
	})
}
