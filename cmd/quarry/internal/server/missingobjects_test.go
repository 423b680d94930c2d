package server

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/cmd/quarry/internal/gitreads"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// damagedMirror is a server whose mirror of one repository loses objects.
type damagedMirror struct {
	t      *testing.T
	s      *Server
	log    *logBuffer
	g      *gitRepository
	gitDir string
}

func newDamagedMirror(t *testing.T) *damagedMirror {
	w := &damagedMirror{t: t, log: &logBuffer{}, g: newGitRepository(t, "holes")}
	w.g.commitFiles("a.txt", "one\ntwo\n", "dir/b.txt", "b\n", "dir/other.txt", "other\n")
	w.g.commitFiles("a.txt", "one\ntwo, changed\n")
	w.g.runGitCommand("mv", "dir/b.txt", "dir/c.txt")
	head := w.g.commitFiles("a.txt", "one\ntwo, changed again\n")
	c := testConfig(t, "git.allowedRoots="+filepath.Dir(w.g.dir), "pipeline.reconcileInterval=0")
	registry := prometheus.NewRegistry()
	s, err := Open(t.Context(), Options{Config: c, Logger: slog.New(slog.NewTextHandler(w.log, nil)), Registerer: registry, Gatherer: registry, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, s)
	run(t, s)
	w.s = s
	w.s.registerAt(t, w.g, head)
	w.gitDir = w.s.pipeline.mirrors.Mirror(w.g.ID).File("git")
	w.unpackObjects()
	// No git process that has read an object may answer.
	if err := w.s.pipeline.mirrors.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

// unpackObjects writes each object of the mirror to its own file.
func (w *damagedMirror) unpackObjects() {
	packs, err := filepath.Glob(filepath.Join(w.gitDir, "objects/pack/*"))
	if err != nil {
		w.t.Fatal(err)
	}
	aside := w.t.TempDir()
	for _, pack := range packs {
		moved := filepath.Join(aside, filepath.Base(pack))
		if err := os.Rename(pack, moved); err != nil {
			w.t.Fatal(err)
		}
		if strings.HasSuffix(moved, ".pack") {
			in, err := os.Open(moved)
			if err != nil {
				w.t.Fatal(err)
			}
			runGit(w.t, in, "--git-dir="+w.gitDir, "unpack-objects", "-q")
			if err := in.Close(); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// Ways to break the file of an object.
var objectFaults = []struct {
	name  string
	apply func(path string) error
}{
	{"removed", os.Remove},
	{"overwritten", func(path string) error { return os.WriteFile(path, []byte("x"), 0o644) }},
	{"cut in half", func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()/2)
	}},
}

// withoutObject calls do while the mirror lacks an object, or has a damaged file for it.
func (w *damagedMirror) withoutObject(name string, fault func(path string) error, do func(id string)) {
	w.t.Helper()
	id := w.g.runGitCommand("rev-parse", name)
	path := filepath.Join(w.gitDir, "objects", id[:2], id[2:])
	b, err := os.ReadFile(path)
	if err = errors.Join(err, os.Chmod(path, 0o644)); err != nil {
		w.t.Fatal(err)
	}
	if err := fault(path); err != nil {
		w.t.Fatal(err)
	}
	do(id)
	if err := os.WriteFile(path, b, 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// request sends a request: a path of the API or of a page, or "POST path body".
func (w *damagedMirror) request(request string) (status int, body string) {
	w.t.Helper()
	if post, ok := strings.CutPrefix(request, "POST "); ok {
		path, body, _ := strings.Cut(post, " ")
		response, err := http.Post(w.s.URL()+path, "application/json", strings.NewReader(body))
		if err != nil {
			w.t.Fatal(err)
		}
		b, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			w.t.Fatal(err)
		}
		return response.StatusCode, string(b)
	}
	return getURL(w.t, w.s.URL()+request)
}

// TestMissingObjects removes and damages objects of a mirror. Requests that need one get
// a 404 that names it, others are answered, nothing is logged as an error, and each object
// is logged once.
func TestMissingObjects(t *testing.T) {
	t.Parallel()
	for _, fault := range objectFaults {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			w := newDamagedMirror(t)
			for _, c := range []struct {
				object string
				// lack are requests that need the object. The results of some are cached, so
				// each of these is sent once with its revision and path.
				lack []string
				have []string
			}{
				{"HEAD:a.txt", []string{
					"/api/blame?repo=holes&path=a.txt",
					"/api/diff?repo=holes&base=main~1&head=main",
					"/api/commits?repo=holes&path=a.txt&lines=1-1",
				}, []string{"/browse/holes@main/-/raw/a.txt", "/api/source?repo=holes&path=a.txt", "/api/commits?repo=holes&path=a.txt", "/api/source?repo=holes&path=a.txt&ref=main~1"}},
				{"HEAD~1:a.txt", []string{
					"/api/source?repo=holes&path=a.txt&ref=main~1",
					"/api/blame?repo=holes&path=a.txt",
					"/api/blame?repo=holes&path=a.txt&ref=main~1",
					"/api/diff?repo=holes&base=main~1&head=main",
					"/browse/holes@main~1/-/blob/a.txt",
					`POST /api/mcp {"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"read_file","arguments":{"repo":"holes","path":"a.txt","ref":"main~1"}}}`,
				}, []string{"/api/source?repo=holes&path=dir/b.txt&ref=main~1", "/api/folder_contents?repoName=holes&revisionName=main~1&path="}},
				{"HEAD~1^{tree}", []string{
					"/api/source?repo=holes&path=dir/b.txt&ref=main~1",
					"/api/blame?repo=holes&path=dir/other.txt&ref=main~1",
					"/api/folder_contents?repoName=holes&revisionName=main~1&path=dir",
					`POST /api/tree {"repoName":"holes","revisionName":"main~1","paths":["dir"]}`,
					`POST /api/files {"repoName":"holes","revisionName":"main~1"}`,
					"/api/diff?repo=holes&base=main~1&head=main",
					"/api/commits?repo=holes&path=a.txt",
					"/api/commits/authors?repo=holes&path=a.txt",
					"/browse/holes@main~1/-/tree/",
				}, []string{"/api/commits?repo=holes", "/api/source?repo=holes&path=a.txt"}},
				{"HEAD~1:dir", []string{
					"/api/source?repo=holes&path=dir/b.txt&ref=main~1",
					`POST /api/files {"repoName":"holes","revisionName":"main~1"}`,
					`POST /api/tree {"repoName":"holes","revisionName":"main~1","paths":["dir"]}`,
				}, []string{"/api/source?repo=holes&path=a.txt&ref=main~1"}},
				{"HEAD~1", []string{
					"/api/commits?repo=holes",
					"/api/commit?repo=holes&ref=main",
					"/api/commits/authors?repo=holes",
					"/api/blame?repo=holes&path=dir/c.txt",
				}, []string{"/api/source?repo=holes&path=a.txt"}},
				{"HEAD", []string{
					"/api/commits?repo=holes",
					"/api/commit?repo=holes&ref=main",
					"/api/commits/authors?repo=holes&path=dir",
					"/api/blame?repo=holes&path=dir/other.txt",
				}, []string{"/api/source?repo=holes&path=a.txt"}},
			} {
				w.withoutObject(c.object, fault.apply, func(id string) {
					for _, request := range c.lack {
						w.checkLacking(c.object, id, request)
						w.checkLacking(c.object, id, request)
					}
					for _, request := range c.have {
						if status, body := w.request(request); status != http.StatusOK {
							t.Errorf("%s is %s: GET %s: %d %s; want 200, because it does not need the object", c.object, fault.name, request, status, body)
						}
					}
					if n := strings.Count(w.log.String(), "object="+id); n != 1 {
						t.Errorf("%s is %s: %d lines name %s, want 1", c.object, fault.name, n, id)
					}
				})
			}
			for line := range strings.Lines(w.log.String()) {
				if strings.Contains(line, "level=ERROR") {
					t.Errorf("logged as an error: %s", line)
				}
			}
			if _, body := getURL(t, w.s.MetricsURL()+"/metrics"); strings.Contains(body, "quarry_mirror_missing_objects_total 0\n") || !strings.Contains(body, "quarry_mirror_missing_objects_total ") {
				t.Error("quarry_mirror_missing_objects_total does not count the requests")
			}
		})
	}
}

// checkLacking checks the answer to a request that needs a missing object.
func (w *damagedMirror) checkLacking(object, id, request string) {
	w.t.Helper()
	status, body := w.request(request)
	switch {
	case strings.Contains(request, "/api/mcp"):
		if status != http.StatusOK || !strings.Contains(body, id) || !strings.Contains(body, `"isError":true`) {
			w.t.Errorf("%s is broken: %s: %d %.300s; want an error that names %s", object, request, status, body, id)
		}
	case strings.Contains(request, "/api/"):
		var e wire.Error
		if err := json.Unmarshal([]byte(body), &e); err != nil || status != http.StatusNotFound || e.ErrorCode != "GIT_OBJECT_MISSING" || !strings.Contains(e.Message, id) {
			w.t.Errorf("%s is broken: %s: %d %s; want 404 GIT_OBJECT_MISSING that names %s", object, request, status, body, id)
		}
	default:
		if status != http.StatusNotFound || !strings.Contains(body, id) {
			w.t.Errorf("%s is broken: %s: %d %.300s; want a page with status 404 that names %s", object, request, status, body, id)
		}
	}
}

// TestMirrorWithoutACommit asks for a commit that the mirror has not received: the answer
// is 503, because the next fetch may bring it.
func TestMirrorWithoutACommit(t *testing.T) {
	t.Parallel()
	w := newDamagedMirror(t)
	git := gitreads.New(func() *mirror.Mirrors { return w.s.pipeline.mirrors }, w.s)
	unknown := code.CommitID(strings.Repeat("ab", 20))
	_, err := git.File(t.Context(), w.g.ID, unknown, "a.txt", 1<<20)
	if !errors.Is(err, source.ErrUnavailable) || errors.Is(err, source.ErrNoObject) {
		t.Errorf("a file of a commit that was never fetched: %v, want ErrUnavailable", err)
	}
	_, err = git.Log(t.Context(), w.g.ID, source.LogQuery{Commit: unknown, Limit: 1})
	if !errors.Is(err, source.ErrUnavailable) || errors.Is(err, source.ErrNoObject) {
		t.Errorf("the history of a commit that was never fetched: %v, want ErrUnavailable", err)
	}
}
