package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
)

// TestHostileParametersOfHistory sends values that reach git as a pattern, a time, a name
// or a path. The response is 200 or names the wrong parameter: if git rejects a caller's
// value, that is not a server error.
func TestHostileParametersOfHistory(t *testing.T) {
	t.Parallel()
	dir, _ := importRepository(t, "testdata/odd.fastimport")
	s := runServer(t, testConfig(t, "git.allowedRoots="+filepath.Dir(dir)))
	var r registration
	if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"name":"odd"}`, dir), &r); status != http.StatusAccepted {
		t.Fatalf("register: %d %s", status, r.Message)
	}
	awaitStatus(t, s, r.RepoID, r.isApplied)
	patterns := []string{
		`\(`, `\)`, `[`, `[[:foo:]]`, `[[.x.]`, `[b-a]`, `[]`, `[a-`, `\`, `\1`, `\(a\)\2`, `*`, `**`, `a**`, `^*`, `\{`, `a\{1,2`, `\(a*\)*\1`,
		`\(No space left on device`, `': x`, `\(': Invalid`, `--all`, `--output=/tmp/x`, `-x`, "\xff\xfe", "\u202e", "a\tb", "a\nb", "a\x00b", "é", `\w\+\<\b`,
		strings.Repeat(`\(`, 500), strings.Repeat("[", 1024), strings.Repeat("a", 1025), strings.Repeat(`\(a*\)*`, 140), strings.Repeat("*", 1024),
	}
	moments := []string{
		"garbage", "-1", "0", "1", "99999999999999999999", "@1", "2026-13-45", "2026-02-30T25:61:61Z", "0000-01-01", "9999-12-31T23:59:59Z", "yesterday", "-1 days ago",
		"9999999999 years ago", "--all", "\x00", "\xff", "2026-01-01\n2026", "1e9", "never", strings.Repeat("9", 101), "now && id", "٣ days ago", "noon", "tea",
	}
	paths := []string{"..", "../..", "a/../b", "/", "//", "a//b", ".", "./a", ":(exclude)a", ":!a", "*", "[", "--", "-x", "\x00", "a\x00", "\xff", "a\nb", "C:\\x", strings.Repeat("a/", 3000), strings.Repeat("a", 5000)}
	names := []string{"--all", "-x", "HEAD~1", "@{u}", "a..b", "^main", ":/x", "main:src", "\x00", "\xff", "a b", "refs/../x", strings.Repeat("a", 5000), "@", "HEAD@{1}", strings.Repeat("f", 40), "stash@{0}", ".lock", "a.lock"}
	for _, c := range []struct {
		path   string
		values map[string][]string
	}{
		{"/api/commits", map[string][]string{"query": patterns, "author": patterns, "since": moments, "until": moments, "path": paths, "ref": names, "page": {"0", "-1", "99999999999999999999", "x"}}},
		{"/api/commits/authors", map[string][]string{"path": paths, "ref": names}},
		{"/api/commit", map[string][]string{"ref": names}},
		{"/api/diff", map[string][]string{"base": names, "head": names, "path": paths}},
		{"/api/blame", map[string][]string{"path": paths, "ref": names}},
		{"/api/source", map[string][]string{"path": paths, "ref": names}},
	} {
		for name, values := range c.values {
			for _, value := range values {
				q := url.Values{"repo": {"odd"}, "ref": {"main"}, "base": {"main"}, "head": {"main"}, "path": {"README.md"}}
				if c.path == "/api/commits" || c.path == "/api/diff" {
					q.Del("path")
				}
				q.Set(name, value)
				status, code, message := failureAt(t, s.URL()+c.path+"?"+q.Encode())
				pattern := name == "query" || name == "author"
				switch {
				case status == http.StatusOK:
				case status == http.StatusBadRequest && code == "INVALID_QUERY_PARAMS" && strings.Contains(message, name):
				case !pattern && status == http.StatusBadRequest && code == "INVALID_GIT_REF", !pattern && status == http.StatusNotFound,
					!pattern && status == http.StatusBadRequest && code == "MISSING_REQUIRED_QUERY_PARAMETER":
				default:
					t.Errorf("%s with %s=%.40q: %d %s %s", c.path, name, value, status, code, message)
				}
				if strings.Contains(message, filepath.Dir(dir)) || strings.Contains(message, "fatal:") {
					t.Errorf("%s with %s=%.40q tells of the server: %s", c.path, name, value, message)
				}
			}
		}
	}
	if status, _, message := failureAt(t, s.URL()+`/api/commits?repo=odd&query=%5C%28`); status != http.StatusBadRequest || !strings.Contains(message, `query: `) || !strings.Contains(message, `Unmatched (`) {
		t.Errorf(`query=\(: %d %s`, status, message)
	}
}

func failureAt(t *testing.T, address string) (status int, code, message string) {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var e struct{ ErrorCode, Message string }
	if resp.StatusCode != http.StatusOK {
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatalf("%s: %d %s", address, resp.StatusCode, raw)
		}
	}
	return resp.StatusCode, e.ErrorCode, e.Message
}
