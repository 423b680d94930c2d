package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	nethtml "golang.org/x/net/html"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
)

// oddPaths are file paths that git allows and that contain characters with a special
// meaning in URLs, in markup or to a proxy.
var oddPaths = []string{
	"plain.go", "src/a/b/deep.go", "dir with space/100%.txt", "a#b?c=d&e.txt", "plus+and;semi,colon.txt", "größe/日本.txt", "at@sign/x@y.go",
	"x/-/blob/y.txt", "-/-/z", "..;/x.txt", "--output=x", "...", ".git-not/config", "caf\xe9/\xff.txt", "%2F.txt", "%41%zz", "back\\slash.txt",
	"tab\there", "line\nfeed", "\u202egnp.txt", "<img src=x onerror=alert(1)>/<script>alert(2)</script>.html", `quote"'><b>.svg`, "{{.}}", "commits/main",
	"tree/", "blob",
}

// oddBranches are the short names of more branches that are indexed.
var oddBranches = []string{"release/1.0", "user@host", "a#b", "x%2Fy", "plus+&=;", "größe", "<img/src=x/onerror=alert(1)>", `quote"'`, "blob/tree"}

// oddRepository creates a repository with oddPaths on its default branch and on all
// oddBranches.
func oddRepository(t *testing.T) (dir string) {
	t.Helper()
	var stream bytes.Buffer
	fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter A <a@example.org> 1767229200 +0000\ndata 1\nx\n")
	for i, path := range oddPaths {
		if strings.HasSuffix(path, "/") {
			path += "file"
		}
		text := fmt.Sprintf("package p // needle </pre><script>alert(%[1]d)</script> &amp; \" '\n\nfunc Needle%[1]d() {}\r\n", i)
		fmt.Fprintf(&stream, "M 100644 inline %s\ndata %d\n%s\n", quotePath(path), len(text), text)
	}
	fmt.Fprintf(&stream, "M 100644 inline needle.bin\ndata 3\n\x00\x01\x02\nM 120000 inline needle-link\ndata 8\nplain.go\n")
	fmt.Fprintf(&stream, "M 160000 0123456789012345678901234567890123456789 needle-sub\nM 100644 inline needle-empty\ndata 0\n\n")
	for _, branch := range oddBranches {
		fmt.Fprintf(&stream, "reset refs/heads/%s\nfrom refs/heads/main\n\n", branch)
	}
	stream.WriteString("done\n")
	dir = filepath.Join(t.TempDir(), "odd.git")
	runGit(t, nil, "init", "--quiet", "--bare", "--initial-branch=main", dir)
	runGit(t, &stream, "-C", dir, "fast-import", "--quiet", "--done")
	return dir
}

// quotePath quotes a path for git fast-import.
func quotePath(path string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(path) {
		fmt.Fprintf(&b, `\%03o`, path[i])
	}
	return b.String() + `"`
}

const oddName = `code.example/<img src=x onerror=alert(3)>/odd %2F#?+&;é"'`

// servingOdd returns a server that has indexed oddRepository. Tests may register more
// repositories below roots.
func servingOdd(t *testing.T, roots ...string) *Server {
	t.Helper()
	dir := oddRepository(t)
	s := runServer(t, testConfig(t, "git.allowedRoots="+strings.Join(append(roots, filepath.Dir(dir)), ","), "publicUrl=https://code.example", "access.anonymous=on", "limits.anonymousPerSecond=0", "limits.perSecond=0"))
	body, err := json.Marshal(map[string]any{"path": dir, "name": oddName, "branches": oddBranches, "webUrl": "https://host.example/odd"})
	if err != nil {
		t.Fatal(err)
	}
	var r registration
	if status := postJSON(t, s.URL()+"/api/repos", string(body), &r); status != http.StatusAccepted {
		t.Fatalf("register: %d %s", status, r.Message)
	}
	awaitStatus(t, s, r.RepoID, func(status map[string]any) bool {
		refs, _ := status["refs"].([]any)
		return r.isApplied(status) && len(refs) == 1+len(oddBranches)
	})
	return s
}

// hit is an object with a webUrl in a response.
type hit struct {
	url  string
	says []string // texts that its page must contain
}

// hitsOf returns all objects with a webUrl in a response of the API.
func hitsOf(t *testing.T, answer any) (hits []hit) {
	t.Helper()
	switch a := answer.(type) {
	case []any:
		for _, v := range a {
			hits = append(hits, hitsOf(t, v)...)
		}
	case map[string]any:
		for name, v := range a {
			if name != "repositoryInfo" { // their webUrl leads to the code host
				hits = append(hits, hitsOf(t, v)...)
			}
		}
		if u, ok := a["webUrl"].(string); ok {
			hits = append(hits, hit{u, textsOf(a)})
		}
	}
	return hits
}

// textsOf returns the texts in an object with a webUrl that describe its file or
// repository.
func textsOf(a map[string]any) (texts []string) {
	for _, name := range []string{"fileName", "path", "repoName", "source"} {
		switch v := a[name].(type) {
		case string:
			if name == "fileName" || name == "path" {
				v = v[strings.LastIndexByte(v, '/')+1:]
			}
			texts = append(texts, v)
		case map[string]any:
			path := v["text"].(string)
			texts = append(texts, path[strings.LastIndexByte(path, '/')+1:])
		}
	}
	for _, list := range []string{"chunks", "matches"} {
		all, _ := a[list].([]any)
		for _, c := range all {
			for _, name := range []string{"content", "lineContent"} {
				if text, ok := c.(map[string]any)[name].(string); ok {
					texts = append(texts, text)
				}
			}
		}
	}
	return texts
}

// askedAs sends a request as a program and returns the response.
func askedAs(t *testing.T, method, address, body string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(answer)
}

var (
	tags        = regexp.MustCompile(`<[^>]*>`)
	lineNumbers = regexp.MustCompile(`<pre class="?n[^>]*>[^<]*</pre>`)
	mainPart    = regexp.MustCompile(`(?s)<main[^>]*>(.*)</main>`)
	// goodTag matches a tag that our templates or appenders write; any other tag comes
	// from a repository.
	goodTag  = regexp.MustCompile(`^(?:nav|h1|h2|h3|p|ul|ol|li|bdi|strong|mark|pre|code|div|span|a|button|form|label|input|details|summary|section|article|figure|img|svg|use|time|del|ins|q-[a-z]+)$`)
	goodName = regexp.MustCompile(`^(?:class|id|href|title|rel|type|name|value|placeholder|for|method|action|role|tabindex|hidden|open|popover|popovertarget|autocomplete|spellcheck|autofocus|inputmode|pattern|size|datetime|src|alt|start|loading|aria-[a-z]+|data-[a-z]+)$`)
	goodLink = regexp.MustCompile(`^(?:/(?:$|[a-z#?])|https://host\.example/|\?|#)`)
)

// pageText returns the text of a page about code. It fails the test if the page contains
// markup that is not ours.
func pageText(t *testing.T, address, page string) string {
	t.Helper()
	main := mainPart.FindStringSubmatch(page)
	if main == nil {
		t.Fatalf("%s: no page: %.300s", address, page)
	}
	z := nethtml.NewTokenizer(strings.NewReader(main[1]))
	for kind := z.Next(); kind != nethtml.ErrorToken; kind = z.Next() {
		if kind == nethtml.CommentToken || kind == nethtml.DoctypeToken {
			t.Errorf("%s: a comment that no template has: %s", address, z.Raw())
		}
		if kind != nethtml.StartTagToken && kind != nethtml.SelfClosingTagToken {
			continue
		}
		token := z.Token()
		if !goodTag.MatchString(token.Data) {
			t.Errorf("%s: a tag that no template has: %s", address, token)
		}
		for _, a := range token.Attr {
			isLink := a.Key == "href" || a.Key == "src" || a.Key == "action"
			if !goodName.MatchString(a.Key) || isLink && !goodLink.MatchString(a.Val) {
				t.Errorf("%s: an attribute that no template has: %s", address, token)
			}
		}
	}
	if head, _, _ := strings.Cut(page, "<main"); strings.Contains(head, "<img src=x") || strings.Contains(head, "<script>") {
		t.Errorf("%s: markup of a repository in the head: %s", address, head)
	}
	text := html.UnescapeString(strings.ReplaceAll(tags.ReplaceAllString(lineNumbers.ReplaceAllString(main[1], ""), ""), "&#13;", ""))
	return strings.ReplaceAll(text, "\u00a0", " ")
}

// TestEveryLinkIsServed follows each webUrl in the responses of every operation that
// returns one.
func TestEveryLinkIsServed(t *testing.T) {
	t.Parallel()
	s := servingOdd(t)
	const public = "https://code.example"
	asks := []struct{ method, path, body string }{
		{"GET", "/api/repos", ""},
		{"POST", "/api/search", `{"query":"needle rev:*","matches":100000,"contextLines":1}`},
		{"POST", "/api/search", `{"query":"needle","matches":100000,"whole":true}`},
		{"POST", "/api/search", `{"query":"file:needle type:file","matches":1000}`},
		{"POST", "/api/search", `{"query":"type:repo repo:odd","matches":1000}`},
	}
	for i, path := range oddPaths {
		if strings.HasSuffix(path, "/") {
			continue
		}
		for _, ref := range []string{"", "main", "HEAD~0", "refs/heads/" + oddBranches[i%len(oddBranches)]} {
			q := url.Values{"repo": {oddName}, "path": {code.SpellPath(path)}, "ref": {ref}}
			asks = append(asks, struct{ method, path, body string }{"GET", "/api/source?" + q.Encode(), ""})
		}
	}
	for _, symbol := range []string{"Needle0", "Needle6"} {
		for _, revision := range []string{"", "user@host"} {
			for _, operation := range []string{"definitions", "references"} {
				asks = append(asks, struct{ method, path, body string }{"POST", "/api/find_" + operation, fmt.Sprintf(`{"symbolName":%q,"revisionName":%q}`, symbol, revision)})
			}
		}
	}
	seen := map[string]bool{}
	for _, ask := range asks {
		status, _, answer := askedAs(t, ask.method, s.URL()+ask.path, ask.body)
		var decoded any
		if err := json.Unmarshal([]byte(answer), &decoded); err != nil || status != http.StatusOK {
			t.Errorf("%s %s: %d %.300s", ask.method, ask.path, status, answer)
			continue
		}
		hits := hitsOf(t, decoded)
		if len(hits) == 0 && !strings.Contains(ask.body, "type:repo") {
			t.Errorf("%s %s %s: nothing with a webUrl: %.300s", ask.method, ask.path, ask.body, answer)
		}
		for _, h := range hits {
			path, ok := strings.CutPrefix(h.url, public)
			if !ok {
				t.Errorf("%s: not below the public URL", h.url)
			}
			before, tail, _ := strings.Cut(path, "/-/")
			kind, tail, _ := strings.Cut(tail, "/")
			for _, address := range []string{path, before + "/-/" + kind + "/" + strings.ReplaceAll(tail, "/", "%2F")} { // and as earlier releases wrote it
				status, header, page := askedAs(t, "GET", s.URL()+address, "")
				if status != http.StatusOK || !strings.HasPrefix(header.Get("Content-Type"), "text/html") {
					t.Errorf("%s %s: link %s: %d %.300s", ask.path, ask.body, address, status, page)
					continue
				}
				text := pageText(t, address, page)
				for _, says := range h.says {
					if !strings.Contains(text, strings.ReplaceAll(says, "\r\n", "\n")) {
						t.Errorf("%s does not hold %q:\n%s", address, says, text)
					}
				}
			}
			seen[path] = true
		}
	}
	if len(seen) < 4*len(oddPaths) {
		t.Errorf("followed %d different links only", len(seen))
	}
}

// maxOtherLinks bounds how many links to other revisions TestPagesLeadOn follows for each
// kind of page.
const maxOtherLinks = 25

// TestPagesLeadOn follows every link on the pages of a branch, starting at its root, and
// links to other revisions once.
func TestPagesLeadOn(t *testing.T) {
	t.Parallel()
	s := servingOdd(t)
	link := regexp.MustCompile(`(?:href|src)="(/browse/[^"]*)"`)
	kindOf := regexp.MustCompile(`/-/([a-z]+)/`)
	root := source.Address{Repository: oddName, Revision: "refs/heads/user@host", Kind: source.PageTree}.String()
	branch := strings.TrimSuffix(root, "/-/tree/")
	queue, seen, raw, others := []string{root}, map[string]bool{root: true}, 0, map[string]int{}
	for ; len(queue) > 0; queue = queue[1:] {
		status, header, page := askedAs(t, "GET", s.URL()+queue[0], "")
		if status != http.StatusOK {
			t.Errorf("%s: %d %.300s", queue[0], status, page)
			continue
		}
		if strings.Contains(queue[0], "/-/raw/") {
			if strings.HasPrefix(header.Get("Content-Type"), "text/plain") {
				raw++
			}
			checkRaw(t, queue[0], header)
			continue
		}
		pageText(t, queue[0], page)
		for _, m := range link.FindAllStringSubmatch(page, -1) {
			next := html.UnescapeString(m[1])
			if seen[next] {
				continue
			}
			seen[next] = true
			if !strings.HasPrefix(next, branch) {
				kind := ""
				if m := kindOf.FindStringSubmatch(next); m != nil {
					kind = m[1]
				}
				if others[kind]++; others[kind] > maxOtherLinks {
					continue
				}
			}
			queue = append(queue, next)
		}
	}
	if raw < len(oddPaths)+1 { // including the empty file, but not the binary one
		t.Errorf("%d raw pages of %d files", raw, len(oddPaths)+1)
	}
	for _, kind := range []string{"blob", "tree", "commits", "commit"} {
		if others[kind] == 0 {
			t.Errorf("no page leads to a %s of another revision", kind)
		}
	}
}

// checkRaw fails the test if a browser might interpret raw text as another type.
func checkRaw(t *testing.T, address string, h http.Header) {
	t.Helper()
	kind := h.Get("Content-Type")
	if kind != "text/plain; charset=utf-8" && (kind != "application/octet-stream" || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment")) {
		t.Errorf("%s: type %q, disposition %q", address, kind, h.Get("Content-Disposition"))
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY",
	} {
		if h.Get(name) != want {
			t.Errorf("%s: %s is %q, want %q", address, name, h.Get(name), want)
		}
	}
	if policy := h.Get("Content-Security-Policy"); !strings.Contains(policy, "sandbox;") || !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("%s: policy %q", address, policy)
	}
}

// TestPagesOfOddKinds checks the page of each kind of object, by its address.
func TestPagesOfOddKinds(t *testing.T) {
	t.Parallel()
	large := gitTree(t, map[string]string{
		"skipped.txt": "needle\n" + strings.Repeat("all of it is text\n", 3<<20/18), "huge.txt": strings.Repeat("too much of it\n", 9<<20/15),
		"one-line.txt": strings.Repeat("x", 3<<20), "marked.txt": "a\nzwei wörter\nc\n",
		"pointer.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 123456\n",
	})
	s := servingOdd(t, filepath.Dir(large))
	var r registration
	if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"name":"large"}`, large), &r); status != http.StatusAccepted {
		t.Fatalf("register: %d %s", status, r.Message)
	}
	awaitStatus(t, s, r.RepoID, r.isApplied)
	odd := func(kind source.PageKind, revision, path string) string {
		return source.Address{Repository: oddName, Revision: revision, Kind: kind, Path: path}.String()
	}
	for _, c := range []struct {
		address string
		status  int
		says    string
	}{
		{odd("blob", "", "needle.bin"), 200, "Binary file"},
		{odd("blob", "", "needle-link"), 200, "It points to plain.go"},
		{odd("blob", "", "needle-sub"), 200, "A submodule is another repository"},
		{odd("raw", "", "needle-sub"), 200, "A submodule is another repository"},
		{odd("tree", "", "needle-sub"), 200, "A submodule is another repository"},
		{odd("blob", "", "needle-empty"), 200, "The file is empty."},
		{odd("blob", "", "src/a"), 200, "/src/a Branch or tag"},
		{odd("tree", "", "src/a/b/deep.go"), 200, "func Needle1()"},
		{odd("tree", "", ""), 200, "needle-sub submodule"},
		{odd("blob", "", "\u202egnp.txt"), 200, "needle"},
		{odd("blob", "", "nothing"), 404, "no such file or directory"},
		{odd("tree", "", "nothing"), 404, "no such file or directory"},
		{odd("blob", "", "src/a/b/deeep.go"), 404, "Did you mean src/a/b/deep.go"},
		{odd("blob", "", "other/deep.go"), 404, "Did you mean src/a/b/deep.go"},
		{odd("blob", "", "../../etc/passwd"), 404, "no such file or directory"},
		{odd("blob", "relaese/1.0", "plain.go"), 404, "Did you mean release/1.0"},
		{odd("blob", "nothing", "plain.go"), 404, "no such branch, tag or commit"},
		{odd("tree", "--all", ""), 404, "no such branch, tag or commit"},
		{odd("commit", "", "nothing"), 404, "no such branch, tag or commit"},
		{odd("commit", "", "--all"), 404, "no such branch, tag or commit"},
		{odd("commit", "", ""), 404, "no such branch, tag or commit"},
		{odd("compare", "", "main...nothing"), 404, "no such branch, tag or commit"},
		{odd("commits", "", "nothing"), 404, "no such file or directory"},
		{odd("commits", "", ""), 200, "1 commit"},
		{odd("commits", "", "plain.go"), 200, "1 commit"},
		{odd("commits", "", "") + "?author=nobody", 200, "No commits match"},
		{odd("commits", "", "") + "?since=soon", 400, "Want a time such as"},
		{odd("commits", "", "") + "?q=" + url.QueryEscape(`a\{2\}`), 400, "want no interval"},
		{odd("commits", "", "plain.go") + "?L=x", 400, "such lines"},
		{odd("commit", "", "main"), 200, "files changed"},
		{odd("compare", "", "main...release/1.0"), 200, "0 files changed"},
		{odd("blob", "", "plain.go") + "?blame=1", 200, "func Needle0()"},
		{odd("blob", "", "plain.go") + "?L=99", 200, "Line 99 is beyond the end of the file, which has 3 lines."},
		{odd("blob", "", "plain.go") + "?L=abc", 200, "“abc” is not a line or a range of lines, such as 12 or 12-30."},
		{odd("blob", "", "plain.go") + "?L=0&blame=1", 200, "“0” is not a line"},
		{odd("blob", "", "plain.go") + "?L=3-2&wrap=1", 200, "“3-2” is not a line"},
		{odd("blob", "", "plain.go") + "?highlightRange=a:b", 200, "“a:b” is not a line"},
		{odd("blob", "", "plain.go") + "?wrap=1", 200, "func Needle0()"},
		{odd("tree", "", "") + "?rev=release/1.0", 200, "plain.go"},
		{odd("tree", "", ""), 200, "Compare"},
		{odd("compare", "", "..."), 200, "0 files changed"},
		{"/browse/nowhere/-/blob/x", 404, "no such page, or you may not view"},
		{"/browse/", 404, "no such page, or you may not view"},
		{"/browse/lagre", 404, "Did you mean large"},
		{"/browse/large", 200, "skipped.txt"},
		{"/browse/large/-/blob/skipped.txt", 200, "Searches do not find this file. The file is above the size limit"},
		{"/browse/large/-/blob/skipped.txt", 200, "this is lines 1 to 150,000 of 174,763"},
		{"/browse/large/-/blob/skipped.txt?part=2", 200, "this is lines 150,001 to 174,763 of"},
		{"/browse/large/-/blob/skipped.txt?part=99999", 200, "this is lines 1 to 150,000 of"},
		{"/browse/large/-/blob/skipped.txt?highlightRange=160000,160002", 200, "this is lines 150,001 to 174,763 of"},
		{"/browse/large/-/blob/huge.txt", 200, "The file exceeds 8.4 MB"},
		{"/browse/large/-/blob/one-line.txt", 200, "Only the beginning of long lines is shown. Show whole lines"},
		{"/browse/large/-/blob/one-line.txt?long=1", 200, strings.Repeat("x", 3<<20)},
		{"/browse/large/-/blob/one-line.txt?highlightRange=1:900000,1:900002", 200, strings.Repeat("x", 2<<20)},
		{"/browse/large/-/blob/pointer.bin", 200, "Stored with Git LFS"},
		{"/browse/large/-/blob/marked.txt?highlightRange=2:6,2:9", 200, "zwei wörter"},
	} {
		status, _, page := askedAs(t, "GET", s.URL()+c.address, "")
		text := strings.Join(strings.Fields(pageText(t, c.address, page)), " ")
		if status != c.status || !strings.Contains(text, c.says) {
			t.Errorf("%s: %d, want %d with %q:\n%.1000s", c.address, status, c.status, c.says, text)
		}
	}
	if _, _, page := askedAs(t, "GET", s.URL()+"/browse/large/-/blob/marked.txt?highlightRange=2:6,2:9", ""); !strings.Contains(page, `<span class=at id=at tabindex=-1 autofocus>zwei <mark>wör</mark>ter`+"\n</span>") {
		t.Errorf("the range is not marked:\n%s", page)
	}
	for _, address := range []string{odd("commit", "", "main"), odd("compare", "", "main...release/1.0")} {
		_, _, page := askedAs(t, "GET", s.URL()+address, "")
		if links := regexp.MustCompile(`class="compare" href="[^"]*/compare/([^"]*)\.\.\.`).FindAllStringSubmatch(page, -1); len(links) == 0 || len(links[0][1]) != 40 {
			t.Errorf("%s: the branch menu does not compare with the commit of the page: %q", address, links)
		}
	}
	for letters, want := range map[string]string{">comp": "Compare with release/1.0", ">compare rel": "Compare with release/1.0", ">compare nothing": ""} {
		address := "/find?" + url.Values{"q": {letters}, "repo": {oddName}, "rev": {"main"}}.Encode()
		_, _, page := askedAs(t, "GET", s.URL()+address, "")
		link := `href="` + odd("compare", "", "main...refs/heads/release/1.0") + `"`
		if !strings.Contains(page, want) || strings.Contains(html.UnescapeString(page), link) != (want != "") {
			t.Errorf("%s does not list %q:\n%s", address, want, page)
		}
	}
	// Addresses as earlier releases wrote them redirect and keep their parameters.
	for former, address := range map[string]string{
		"src%2Fa%2Fb%2Fdeep.go?L=3":  odd("blob", "", "src/a/b/deep.go") + "?L=3",
		"src%2fa/b%2Fdeep.go":        odd("blob", "", "src/a/b/deep.go"),
		"src%2Fa%2Fb%2Fdeep.go?wrap": odd("blob", "", "src/a/b/deep.go") + "?wrap",
		"..%2F..%2Fetc":              "",
		"%252F.txt":                  "",
	} {
		if have := redirectOf(t, s.URL()+odd("blob", "", "")+former); have != address {
			t.Errorf("%s leads to %q, want %q", former, have, address)
		}
	}
	for ticks, compared := range map[string]string{
		"?commit=b&commit=a": "a...b", "?commit=a": "a...", "?commit=a&head=release/1.0": "a...release/1.0", "?commit=c&commit=b&commit=a&head=main": "a...c",
	} {
		if have, address := redirectOf(t, s.URL()+odd("compare", "", "")+ticks), odd("compare", "", compared); have != address {
			t.Errorf("%s leads to %q, want %q", ticks, have, address)
		}
	}
	if have, address := redirectOf(t, s.URL()+odd("compare", "", "")+"?commit=a&path=x/y.go"), odd("compare", "", "a...")+"?path=x%2Fy.go"; have != address {
		t.Errorf("commits of a file lead to %q, want %q", have, address)
	}
	if have := redirectOf(t, s.URL()+odd("raw", "", "")+"src%2Fa%2Fb%2Fdeep.go"); have != "" {
		t.Errorf("raw text leads to %q: programs may not follow", have)
	}
	if status, h, text := askedAs(t, "GET", s.URL()+"/browse/large/-/raw/skipped.txt", ""); status != 200 || len(text) < 3<<20-18 || h.Get("Content-Disposition") != "inline; filename=skipped.txt" {
		t.Errorf("raw: %d, %d bytes, %v", status, len(text), h)
	}
	if status, h, _ := askedAs(t, "POST", s.URL()+"/browse/large/-/blob/marked.txt", ""); status != http.StatusMethodNotAllowed || h.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d, Allow %q", status, h.Get("Allow"))
	}
}

// redirectOf returns where an address redirects; empty if it does not.
func redirectOf(t *testing.T, address string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.Header.Get("Location")
}

// TestPagesAreInTheAuditLog compares the audit entries of pages with those of the API.
func TestPagesAreInTheAuditLog(t *testing.T) {
	t.Parallel()
	s := servingOdd(t)
	page := source.Address{Repository: oddName, Revision: "main", Kind: source.PageBlob, Path: "plain.go"}.String()
	for _, address := range []string{
		"/api/source?" + url.Values{"repo": {oddName}, "path": {"plain.go"}, "ref": {"main"}}.Encode(), page, strings.Replace(page, "/blob/", "/raw/", 1),
		page + "?fragment=last", "/api/source?repo=hidden&path=x", "/browse/hidden/-/blob/x",
	} {
		askedAs(t, "GET", s.URL()+address, "")
	}
	var entries []item
	waitUntil(t, func() bool {
		entries = slices.DeleteFunc(s.listAuditEntries(t), func(i item) bool {
			return i.Action != "user.fetched_file_source" && i.Action != "user.listed_commits"
		})
		return len(entries) == 6
	})
	slices.Reverse(entries)
	for i, e := range entries {
		of := entries[0]
		if i >= 4 {
			of = entries[4]
		}
		if isCommits := i == 3; isCommits != (e.Action == "user.listed_commits") {
			t.Errorf("entry %d is %s: the last commit of a file is no text of it", i, e.Action)
		}
		if e.TargetID != of.TargetID || e.TargetType != of.TargetType || e.ActorID != of.ActorID || e.ActorType != of.ActorType || e.Metadata["ref"] != of.Metadata["ref"] {
			t.Errorf("entry %d is %+v; of the API %+v", i, e, of)
		}
	}
}

// withoutAddress returns a response without the parts that repeat the requested address:
// a page links to itself, and its search box contains the last path element.
func withoutAddress(rec *httptest.ResponseRecorder, address string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(address, source.AddressPrefix), "/-/")
	name, _, _ = strings.Cut(name, "@")
	out := regexp.MustCompile("(?i)"+regexp.QuoteMeta(url.QueryEscape(address))).ReplaceAllString(withoutToken(visibleResponse(rec)), "…")
	return strings.ReplaceAll(out, `value="`+path.Base(name)+`"`, "…")
}

// TestPagesShowWhatTheAPIShows requests pages about a repository in every role:
// callers who may not read it get the response for a repository that does not
// exist.
func TestPagesShowWhatTheAPIShows(t *testing.T) {
	t.Parallel()
	hidden := writeSecret(t, "qzpriv")
	public := writeSecret(t, "qzpub")
	w := newSeenWorld(t, map[string]*written{"qzpriv": hidden, "qzpub": public}, "qzpriv", "qzpub")
	pageAs := w.sendPageRequest
	for _, role := range w.roles {
		for _, s := range []*secret{&hidden.secret, &public.secret} {
			none := noSecret(s)
			for _, page := range []func(s *secret) string{
				fillTemplate("/browse/{name}/-/blob/{path}"), fillTemplate("/browse/{name}@{branch}/-/raw/{path}"), fillTemplate("/browse/{name}@{head}/-/tree/{mark}dir"),
				fillTemplate("/browse/{name}/-/tree/"), fillTemplate("/browse/{name}/-/blob/{mark}skipped.bin"), fillTemplate("/browse/{name}"),
			} {
				address := page(s)
				have := pageAs(role.name, "*/*", address)
				api := w.sendRequest(role.name, "GET", fillTemplate("/api/source?repo={name}&path={path}")(s), "")
				switch {
				case api.Code == http.StatusOK:
					if have.Code != http.StatusOK || !strings.Contains(have.Body.String(), s.mark) {
						t.Errorf("%s may read %s: %d\n%.500s", role.name, address, have.Code, have.Body)
					}
				case have.Code != api.Code:
					t.Errorf("%s: %s: %d, of the API %d", role.name, address, have.Code, api.Code)
				default:
					of := pageAs(role.name, "*/*", page(none))
					if a, b := withoutAddress(have, address), withoutAddress(of, page(none)); a != b || strings.Contains(a, s.mark) {
						t.Errorf("%s tells %s from one that is nowhere:\n%s\n%s", role.name, address, a, b)
					}
				}
			}
		}
	}
	// A browser without a credential is redirected to sign in, and then comes back.
	rec := pageAs("nobody", "text/html", "/browse/"+hidden.secret.name+"/-/blob/a%2Fb")
	if want := "/sign-in?return=" + url.QueryEscape("/browse/"+hidden.secret.name+"/-/blob/a%2Fb"); rec.Code != http.StatusSeeOther || rec.Header().Get("Location") != want {
		t.Errorf("a browser: %d to %q, want %q", rec.Code, rec.Header().Get("Location"), want)
	}
	if rec := pageAs("nobody", "*/*", "/browse/x/-/blob/a"); rec.Code != http.StatusUnauthorized || rec.Header().Get("WWW-Authenticate") == "" {
		t.Errorf("a program: %d %v", rec.Code, rec.Header())
	}
}
