package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/verification"
)

// echoGit answers with its arguments, or fails.
type echoGit struct {
	fail  error
	block chan struct{} // Reach waits for it, if it is not nil
	ended chan error    // of a Reach that did not end by itself
}

func (g *echoGit) Resolve(_ context.Context, id code.RepositoryID, name code.RevisionName, head code.Ref) (code.CommitID, error) {
	return code.CommitID(fmt.Sprintf("%d %+v %s", id, name, head)), g.fail
}

func (g *echoGit) Reach(ctx context.Context, _ code.RepositoryID, _ code.CommitID, indexed []code.Revision) (source.Reach, error) {
	if g.block != nil {
		select {
		case <-g.block:
		case <-ctx.Done():
			g.ended <- ctx.Err()
			return 0, ctx.Err()
		}
	}
	return source.Reach(len(indexed)), g.fail
}

func (g *echoGit) Branches(context.Context, code.RepositoryID) ([]source.Branch, error) {
	return []source.Branch{{Ref: "refs/heads/main", Commit: "1", Time: time.Unix(5, 0).UTC()}}, g.fail
}

func (g *echoGit) File(_ context.Context, _ code.RepositoryID, commit code.CommitID, path string, maxBytes int64) (source.File, error) {
	return source.File{Text: fmt.Appendf(nil, "%s %s %d", commit, path, maxBytes), Language: "Go", Blob: "b", Skipped: code.SkipSymlink}, g.fail
}

func (g *echoGit) Content(_ context.Context, _ code.RepositoryID, commit code.CommitID, path string, maxBytes int64) ([]byte, error) {
	return fmt.Appendf(nil, "%s %s %d", commit, path, maxBytes), g.fail
}

func (g *echoGit) Directories(_ context.Context, _ code.RepositoryID, commit code.CommitID, paths []string, limit int) (map[string][]source.Entry, error) {
	return map[string][]source.Entry{fmt.Sprint(commit, paths, limit): {{Name: "n", Kind: source.KindCommit, Commit: "c"}}}, g.fail
}

func (g *echoGit) Files(_ context.Context, _ code.RepositoryID, commit code.CommitID, limit int) ([]string, error) {
	return []string{string(commit), fmt.Sprint(limit)}, g.fail
}

func (g *echoGit) Log(_ context.Context, _ code.RepositoryID, q source.LogQuery) ([]source.Commit, error) {
	return []source.Commit{{ID: "1", Parents: []code.CommitID{"2"}, Subject: fmt.Sprintf("%+v", q)}}, g.fail
}

func (g *echoGit) CountLog(_ context.Context, _ code.RepositoryID, q source.LogQuery) (int, error) {
	return q.Skip + q.Limit, g.fail
}

func (g *echoGit) LastChanges(_ context.Context, _ code.RepositoryID, commit code.CommitID, path string, names []string) (map[string]source.Commit, bool, error) {
	return map[string]source.Commit{"": {ID: commit}, path: {Subject: fmt.Sprint(names)}}, true, g.fail
}

func (g *echoGit) Authors(_ context.Context, _ code.RepositoryID, commit code.CommitID, path string) ([]source.Author, error) {
	return []source.Author{{Name: string(commit), Email: path, Commits: 3}}, g.fail
}

func (g *echoGit) MergeBase(_ context.Context, _ code.RepositoryID, a, b code.CommitID) (code.CommitID, error) {
	return a + " " + b, g.fail
}

func (g *echoGit) Diff(_ context.Context, _ code.RepositoryID, base, head code.CommitID, path string, maxBytes int64) ([]source.FileDiff, error) {
	hunk := source.Hunk{Old: source.LineSpan{Start: 1, Lines: 2}, New: source.LineSpan{Start: 3, Lines: 4}, Heading: "h", Body: fmt.Sprint(base, head, path, maxBytes)}
	return []source.FileDiff{{Old: "a", New: "b", Hunks: []source.Hunk{hunk}}}, g.fail
}

func (g *echoGit) Blame(_ context.Context, _ code.RepositoryID, commit code.CommitID, path string, maxBytes int64) (*source.Blame, error) {
	return &source.Blame{
		Ranges:  []source.BlameRange{{Commit: commit, Path: path, Start: 1, Lines: int(maxBytes)}},
		Commits: map[code.CommitID]source.BlameCommit{commit: {Time: time.Unix(7, 0).In(time.FixedZone("", 3600)), Subject: "s", AuthorName: "n", Previous: "p"}},
	}, g.fail
}

// echoMirrors answers with the arguments of a call, and fails as its reads do.
type echoMirrors struct{ git source.Git }

func (m echoMirrors) failure() error {
	if g, ok := m.git.(*echoGit); ok {
		return g.fail
	}
	return nil
}

func (m echoMirrors) ReadState(_ context.Context, id code.RepositoryID) (verification.MirrorState, error) {
	return verification.MirrorState{Missing: true, Default: "refs/heads/main", Indexed: []code.Revision{{Ref: "refs/heads/a", Commit: code.CommitID(id.String())}}}, m.failure()
}

func (m echoMirrors) ListTree(_ context.Context, _ code.RepositoryID, commit code.CommitID, after string) ([]verification.TreeFile, bool, error) {
	return []verification.TreeFile{{Path: after + "\xff", Mode: 0o100644, ID: string(commit), SizeBytes: -1}}, true, m.failure()
}

func (m echoMirrors) ReadSizes(_ context.Context, _ code.RepositoryID, blobs []string, maxBytes int64) ([]int64, error) {
	return make([]int64, len(blobs)), cmp.Or(m.failure(), map[bool]error{true: errors.New("too much")}[maxBytes > maxMirrorBlobBytes])
}

func (m echoMirrors) FindReaching(_ context.Context, _ code.RepositoryID, commit code.CommitID, path string) (code.CommitID, error) {
	return commit + code.CommitID(path), m.failure()
}

// gitHost is a server of git reads.
type gitHost struct {
	*Peer
	server *Server
}

func startGit(t *testing.T, git source.Git, change ...func(*ServerOptions)) *gitHost {
	t.Helper()
	o := ServerOptions{Secret: secret, Git: &GitService{Git: git, Mirrors: echoMirrors{git}, Holds: func(context.Context, code.RepositoryID) bool { return true }}}
	for _, f := range change {
		f(&o)
	}
	server, err := NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	return &gitHost{&Peer{Address: web.Listener.Addr().String(), Secret: secret}, server}
}

// callAll calls each method of source.Git and returns its results.
func callAll(t *testing.T, g source.Git) map[GitMethod][]any {
	t.Helper()
	ctx, id := t.Context(), code.RepositoryID(7)
	const commit, other = code.CommitID("c1"), code.CommitID("c2")
	name := code.RevisionName{Refs: []code.Ref{"refs/heads/dev", "refs/tags/dev"}, Commit: "abcd", Steps: "~2^1"}
	query := source.LogQuery{Commit: commit, Except: other, Path: "a", FirstLine: 1, LastLine: 2, Message: "m", Author: "a", Since: 1, Until: 2, Skip: 3, Limit: 4}
	all := map[GitMethod][]any{}
	keep := func(m GitMethod, results ...any) { all[m] = results }
	commitID, err := g.Resolve(ctx, id, name, "refs/heads/main")
	keep(gitResolve, commitID, err)
	reach, err := g.Reach(ctx, id, commit, []code.Revision{{Ref: "refs/heads/main", Commit: other}})
	keep(gitReach, reach, err)
	branches, err := g.Branches(ctx, id)
	keep(gitBranches, branches, err)
	file, err := g.File(ctx, id, commit, "a/b", 10)
	keep(gitFile, file, err)
	content, err := g.Content(ctx, id, commit, "a/b", 11)
	keep(gitContent, content, err)
	directories, err := g.Directories(ctx, id, commit, []string{"", "a"}, 12)
	keep(gitDirectories, directories, err)
	files, err := g.Files(ctx, id, commit, 13)
	keep(gitFiles, files, err)
	commits, err := g.Log(ctx, id, query)
	keep(gitLog, commits, err)
	n, err := g.CountLog(ctx, id, query)
	keep(gitCount, n, err)
	changes, isCut, err := g.LastChanges(ctx, id, commit, "a", []string{"b"})
	keep(gitChanges, changes, isCut, err)
	authors, err := g.Authors(ctx, id, commit, "a")
	keep(gitAuthors, authors, err)
	base, err := g.MergeBase(ctx, id, commit, other)
	keep(gitMergeBase, base, err)
	diff, err := g.Diff(ctx, id, commit, other, "a", 14)
	keep(gitDiff, diff, err)
	blame, err := g.Blame(ctx, id, commit, "a", 15)
	keep(gitBlame, blame, err)
	mirrors, ok := g.(Mirrors)
	if !ok {
		mirrors = echoMirrors{g}
	}
	state, err := mirrors.ReadState(ctx, id)
	keep(mirrorState, state, err)
	tree, isCut, err := mirrors.ListTree(ctx, id, commit, "a/../\xfe")
	keep(mirrorTree, tree, isCut, err)
	sizes, err := mirrors.ReadSizes(ctx, id, []string{"x", "y"}, maxMirrorBlobBytes)
	keep(mirrorSizes, sizes, err)
	reaching, err := mirrors.FindReaching(ctx, id, commit, "a/b")
	keep(mirrorReaching, reaching, err)
	return all
}

// TestGitCalls compares each method of source.Git through a connection with a direct call, and each
// error of source.Git.
func TestGitCalls(t *testing.T) {
	git := &echoGit{}
	remote := RemoteGit{Call: startGit(t, git).CallGit}
	if got, want := callAll(t, remote), callAll(t, git); !reflect.DeepEqual(got, want) {
		t.Errorf("through a connection:\n%+v\nwant\n%+v", got, want)
	}
	for _, kind := range []error{
		source.ErrNoRevision, source.ErrNoPath, source.ErrDirectory, source.ErrSubmodule, source.ErrBinary, source.ErrTooLarge, source.ErrInvalidPattern,
		source.ErrNoLine, source.ErrTimeout, source.ErrBusy, source.ErrUnavailable,
	} {
		git.fail = fmt.Errorf("about this: %w", kind)
		for method, results := range callAll(t, remote) {
			err, _ := results[len(results)-1].(error)
			if !errors.Is(err, kind) || err.Error() != git.fail.Error() {
				t.Errorf("%s: %v, want %v", method, err, git.fail)
			}
		}
	}
	git.fail = fmt.Errorf("read: %w", &source.ObjectError{Object: "0123"})
	if _, err := remote.Reach(t.Context(), 7, "c", nil); !errors.Is(err, source.ErrNoObject) || !strings.Contains(err.Error(), "0123") {
		t.Errorf("a missing object: %v", err)
	}
}

// TestRefusedGitCalls checks that a call that must not be carried out is refused, with the reason.
func TestRefusedGitCalls(t *testing.T) {
	for name, x := range map[string]struct {
		change func(p *Peer, c *GitCall)
		want   string
	}{
		"another secret":   {func(p *Peer, _ *GitCall) { p.Secret = []byte(strings.Repeat("x", MinSecretBytes)) }, errWrongSecret.Error()},
		"another clock":    {func(p *Peer, _ *GitCall) { p.Now = func() time.Time { return time.Now().Add(2 * maxClockSkew) } }, errClock.Error()},
		"a path above":     {func(_ *Peer, c *GitCall) { c.Path = "../x" }, "malformed"},
		"a directory":      {func(_ *Peer, c *GitCall) { c.Paths = []string{"/etc"} }, "malformed"},
		"a path of a log":  {func(_ *Peer, c *GitCall) { c.Log.Path = "a//b" }, "malformed"},
		"lines in a ref":   {func(_ *Peer, c *GitCall) { c.Name.Refs = []code.Ref{"refs/heads/a\nb"} }, "malformed"},
		"lines in a head":  {func(_ *Peer, c *GitCall) { c.Head = "a\nb" }, "malformed"},
		"lines in steps":   {func(_ *Peer, c *GitCall) { c.Name.Steps = "~1\nb" }, "malformed"},
		"a prefix":         {func(_ *Peer, c *GitCall) { c.Name.Commit = "--all" }, "malformed"},
		"many refs":        {func(_ *Peer, c *GitCall) { c.Name.Refs = make([]code.Ref, maxGitRefs+1) }, "malformed"},
		"a large page":     {func(_ *Peer, c *GitCall) { c.Method, c.Log.Limit = gitLog, 1<<30 }, "malformed"},
		"a wide pattern":   {func(_ *Peer, c *GitCall) { c.Log.Message = `a\{32767\}` }, "malformed"},
		"many lines":       {func(_ *Peer, c *GitCall) { c.Log.FirstLine, c.Log.LastLine = 1, 1<<30 }, "malformed"},
		"no method":        {func(_ *Peer, c *GitCall) { c.Method = "push" }, "no method"},
		"not held":         {func(_ *Peer, c *GitCall) { c.Held = true }, ErrNotHeld.Error()},
		"refs of not held": {func(_ *Peer, c *GitCall) { c.Method = gitResolve }, ErrNotHeld.Error()},
		"state not held":   {func(_ *Peer, c *GitCall) { c.Method = mirrorState }, ErrNotHeld.Error()},
		"many blobs":       {func(_ *Peer, c *GitCall) { c.Method, c.Blobs = mirrorSizes, make([]string, maxMirrorBlobs+1) }, "malformed"},
	} {
		p := startGit(t, &echoGit{}, func(o *ServerOptions) { o.Git.Holds = func(context.Context, code.RepositoryID) bool { return false } })
		c := &GitCall{Method: gitFiles, Repository: 7, Commit: "c", Limit: 5}
		x.change(p.Peer, c)
		if _, err := p.CallGit(t.Context(), c); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
	p := startGit(t, &echoGit{})
	s := &session{peer: p.Peer, path: gitPath, caller: []byte("7")}
	defer s.Close()
	in, err := s.exchange(t.Context(), &call{Git: &GitCall{Method: gitFiles, Repository: 8}})
	if err != nil || in.Code == "" || !strings.Contains(in.Text, "another repository") {
		t.Errorf("a call about another repository than that of the handshake: %+v, %v", in, err)
	}
	if _, err := p.NewSession([]byte("ann")).Call(t.Context(), &search.ShardCall{Open: true}); err == nil || !strings.Contains(err.Error(), "git.peers of git.listen") {
		t.Errorf("a session of a search at a process with mirrors: %v", err)
	}
	shard := startShard(t, 0)
	if _, err := (&Peer{Address: shard.Address, Secret: secret}).CallGit(t.Context(), &GitCall{Method: gitFiles}); err == nil || !strings.Contains(err.Error(), "git.peers of git.listen") {
		t.Errorf("a git read at a shard: %v", err)
	}
}

// TestGitCallEnds checks that a read ends when its client leaves, and that reads which find no slot
// are refused.
func TestGitCallEnds(t *testing.T) {
	git := &echoGit{block: make(chan struct{}), ended: make(chan error, 1)}
	registry := prometheus.NewRegistry()
	p := startGit(t, git, func(o *ServerOptions) { o.Registerer = registry })
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := p.CallGit(ctx, &GitCall{Method: gitReach, Repository: 7})
		failed <- err
	}()
	clocktest.WaitUntil(t, "the read runs", func() bool {
		return readMetric(t, registry, "quarry_rpc_git_running_calls", poolWalks) == 1
	})
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("the call: %v, want context.Canceled", err)
	}
	if err := <-git.ended; err == nil {
		t.Error("the read goes on after its client has left")
	}
	p.server.gitWait = time.Millisecond
	walks := max(2, runtime.GOMAXPROCS(0))
	for range walks {
		go func() { _, _ = p.CallGit(t.Context(), &GitCall{Method: gitReach, Repository: 7}) }()
	}
	clocktest.WaitUntil(t, "the walks run", func() bool {
		return readMetric(t, registry, "quarry_rpc_git_running_calls", poolWalks) == float64(walks)
	})
	if _, err := p.CallGit(t.Context(), &GitCall{Method: gitReach, Repository: 7}); !errors.Is(err, source.ErrBusy) {
		t.Errorf("one more walk: %v, want ErrBusy", err)
	}
	if _, err := p.CallGit(t.Context(), &GitCall{Method: gitFiles, Repository: 7}); err == nil {
		t.Error("a walk of files runs")
	}
	if _, err := p.CallGit(t.Context(), &GitCall{Method: gitContent, Repository: 7}); err != nil {
		t.Errorf("a read of an object while walks run: %v", err)
	}
	close(git.block)
}
