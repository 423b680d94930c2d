package server

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	nethtml "golang.org/x/net/html"
)

// budgetFiles are the files of the repository of TestPagesFitTheirBudgets: 233 to compare, one of
// 2,600 lines, one of 100,000, and one line of 2.3 MB.
func budgetFiles() map[string]string {
	writeFuncs := func(name string, n int) string {
		var b strings.Builder
		b.WriteString("package src\n\n")
		for i := range n {
			fmt.Fprintf(&b, "// Get%[1]s%[2]d adds %[2]d.\nfunc Get%[1]s%[2]d(self int) int {\n\treturn self + %[2]d\n}\n\n", name, i)
		}
		return b.String()
	}
	files := map[string]string{
		"README.md": "# Budgets\n", "long.go": writeFuncs("Long", 520), "longest.go": writeFuncs("Longest", 20_000),
		"minified.js": strings.Repeat(`function get(self){var a=1;return self("text")}`, 2_300_000/47),
	}
	for i := range 233 {
		files[fmt.Sprintf("src/f%03d.go", i)] = writeFuncs(fmt.Sprintf("F%d", i), 12) + "// Same is in each file.\nfunc Same() int { return 1 }\n"
	}
	return files
}

// TestPagesFitTheirBudgets bounds ten pages in the bytes that are sent and in the elements and
// texts of which a browser makes nodes.
func TestPagesFitTheirBudgets(t *testing.T) {
	t.Parallel()
	dir := gitTree(t, budgetFiles())
	for path, text := range budgetFiles() {
		if strings.HasPrefix(path, "src/") {
			if err := os.WriteFile(filepath.Join(dir, path), []byte(strings.ReplaceAll(text, "self + 7", "self - 7")), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	runGit(t, nil, "-C", dir, "checkout", "--quiet", "-b", "topic")
	runGit(t, nil, "-C", dir, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "--quiet", "--all", "--message", "subtract")
	s := runServer(t, testConfig(t, "git.allowedRoots="+filepath.Dir(dir), "access.anonymous=on", "limits.anonymousPerSecond=0", "limits.perSecond=0"))
	var r registration
	if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"name":"team/budgets","branches":["topic"]}`, dir), &r); status != http.StatusAccepted {
		t.Fatalf("register: %d %s", status, r.Message)
	}
	awaitStatus(t, s, r.RepoID, r.isApplied)
	for _, page := range []struct {
		path, shows  string
		bytes, nodes int
	}{
		{"/", "searches code", 4 << 10, 400},
		{"/search?q=sym:GetLong7", "GetLong7", 4 << 10, 800},
		{"/search?q=self&n=1000", "the first 1,000", 24 << 10, 28_000},
		{"/browse/team/budgets", "longest.go", 4 << 10, 400},
		{"/browse/team/budgets/-/blob/long.go", "GetLong519", 36 << 10, 16_000},
		{"/browse/team/budgets/-/blob/longest.go", "GetLongest19999", 640 << 10, 95_000},
		{"/browse/team/budgets/-/blob/minified.js", "line-rest", 28 << 10, 26_000},
		{"/browse/team/budgets/-/compare/main...topic", "233 files changed", 18 << 10, 15_000},
		{"/symbols?name=Same", "Definitions", 8 << 10, 11_000},
		{"/api/docs", "Search code", 80 << 10, 65_000},
	} {
		sent, text := getCompressed(t, s.URL()+page.path)
		nodes := 0
		for z := nethtml.NewTokenizer(bytes.NewReader(text)); ; {
			kind := z.Next()
			if kind == nethtml.ErrorToken {
				break
			}
			if kind != nethtml.EndTagToken {
				nodes++
			}
		}
		t.Logf("%s: %d bytes, %d nodes", page.path, sent, nodes)
		if sent > page.bytes || nodes > page.nodes || !bytes.Contains(text, []byte(page.shows)) {
			t.Errorf("%s: %d bytes and %d nodes, want at most %d and %d, and %q", page.path, sent, nodes, page.bytes, page.nodes, page.shows)
		}
	}
}

// getCompressed returns the number of bytes in which a page is sent, and the page.
func getCompressed(t *testing.T, url string) (int, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	r.Header.Set("Accept-Encoding", "gzip")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	sent, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", url, response.StatusCode, err)
	}
	z, err := gzip.NewReader(bytes.NewReader(sent))
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	return len(sent), text
}
