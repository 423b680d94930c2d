package mirror

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/schemas/code"
)

func TestCredentialsAndRedirects(t *testing.T) {
	repo := gittest.New(t)
	repo.CommitFiles("a", "1")
	backend := gittest.HTTPHandler(t, filepath.Dir(repo.Dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to, ok := strings.CutPrefix(r.URL.Path, "/moved"); ok {
			http.Redirect(w, r, to+"?"+r.URL.RawQuery, http.StatusMovedPermanently)
			return
		}
		if user, password, _ := r.BasicAuth(); user != "ada" || password != "secret" {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	defer server.Close()
	credentials := Access{Username: "ada", Password: "wrong"}
	ms, err := Open(t.Context(), Options{
		Dir:    filepath.Join(t.TempDir(), "mirrors"),
		Policy: Policy{Schemes: []string{"http"}, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
		Access: func(context.Context, code.Repository) (Access, error) { return credentials, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer ms.Close()
	r := repo.Code("private")
	r.CloneURL = server.URL + "/repository"
	if _, err := ms.Mirror(r.ID).Fetch(t.Context(), r); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("wrong password: %v, want ErrUnauthorized", err)
	}
	credentials.Password = "secret"
	if _, err := ms.Mirror(r.ID).Fetch(t.Context(), r); err != nil {
		t.Errorf("right password: %v", err)
	}
	moved := r
	moved.ID, moved.CloneURL = r.ID+1, server.URL+"/moved/repository"
	if _, err := ms.Mirror(moved.ID).Fetch(t.Context(), moved); err == nil || ms.Mirror(moved.ID).hasRepository() {
		t.Errorf("a redirection was followed: %v", err)
	}
	if config, err := os.ReadFile(filepath.Join(ms.Mirror(r.ID).gitDir(), "config")); err != nil || bytes.Contains(config, []byte("Basic")) {
		t.Errorf("credentials are on disk: %s %v", config, err)
	}
}

func TestTimeoutAndLimit(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	ms, err := Open(t.Context(), Options{
		Dir:    filepath.Join(t.TempDir(), "mirrors"),
		Policy: Policy{Schemes: []string{"http"}, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer ms.Close()
	r := code.Repository{ID: 1, CloneURL: server.URL + "/r"}
	ms.git.timeout = 300 * time.Millisecond
	if _, err := ms.Mirror(1).Fetch(t.Context(), r); !errors.Is(err, ErrTimeout) {
		t.Errorf("silent host: %v, want ErrTimeout", err)
	}
	ms.git.timeout = DefaultReadTimeout
	if _, err := ms.git.readOutput(t.Context(), command{args: []string{"version"}, limit: 5}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("output over the limit: %v, want ErrTooLarge", err)
	}
}

// TestOldGit reads through cat-file --batch, as with a git before 2.36.
func TestOldGit(t *testing.T) {
	repo := gittest.New(t)
	commit := repo.CommitFiles("a", "one", "b", strings.Repeat("b", 1000))
	ms, err := Open(t.Context(), Options{Dir: filepath.Join(t.TempDir(), "mirrors"), Policy: Policy{Schemes: []string{"file"}, Roots: []string{os.TempDir()}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ms.Close()
	ms.git.version = minVersion
	r := repo.Code("old")
	m := ms.Mirror(r.ID)
	if _, err := m.Fetch(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got, err := m.FetchedCommit(t.Context(), "refs/heads/main"); err != nil || got != commit {
		t.Fatalf("branch %s, %v; want %s", got, err, commit)
	}
	absent, _ := ParseObjectID(bytes.Repeat([]byte("ab"), 20))
	ids := []ObjectID{absent}
	if err := m.ListTree(t.Context(), commit, func(_ string, e Entry) error { ids = append(ids, e.ID); return nil }); err != nil {
		t.Fatal(err)
	}
	reader, err := m.Reader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	sizes := make([]int64, len(ids))
	if err := reader.Sizes(t.Context(), ids, func(i int, size int64) { sizes[i] = size }); err != nil || sizes[0] != -1 || sizes[1] != 3 || sizes[2] != 1000 {
		t.Fatalf("sizes %v, %v", sizes, err)
	}
	if err := reader.Blobs(t.Context(), ids, 1<<20, func(i int, content []byte, err error) error {
		if (i == 0) != errors.Is(err, ErrMissing) || i > 0 && int64(len(content)) != sizes[i] {
			t.Errorf("blob %d: %d bytes, %v", i, len(content), err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func FuzzParseGitOutput(f *testing.F) {
	name := strings.Repeat("a1", 20)
	for _, s := range []string{
		"100644 blob " + name + "    12\tpath", "160000 commit " + name + "       -\tsub",
		"100644 path\x00" + name[:20],
		"ref: refs/heads/main\tHEAD\n" + name + "\tHEAD\n", name + " commit refs/heads/main  \n", name + " tag refs/tags/v1 " + name + " commit\n", name + "\tHEAD\n" + name + "\trefs/tags/v1^{}\n", "tree " + name + "\ncommitter A <a@b> 12 +0000\n\nm",
		"committer > 1", "committer A <> 99999999999999999999 +0000", "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if path, e, err := parseTreeEntry(b); err == nil && (!bytes.HasSuffix(b, []byte(path)) || e.Size < -1) {
			t.Fatalf("%q: %q %+v", b, path, e)
		}
		_, _ = parseTree(b, 20)
		if refs, _, err := parseRefs(b); err == nil {
			for ref := range refs {
				if err := ref.Validate(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if l, err := parseListing(b); err == nil {
			if s, err := l.selectState(code.Repository{Branches: []string{"**"}}); err == nil && len(s.Revisions) > 0 && s.Revisions[0].Ref != s.Default {
				t.Fatalf("%+v: the default branch is not first", s)
			}
		}
		if c, err := parseCommit(name, b); err == nil && c.Time.Year() > 9999 {
			t.Fatalf("%q: %s", b, c.Time)
		}
	})
}
