package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/quarrysearch/quarry/schemas/openapi/openapitest"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// importRepository creates a bare repository from a git fast-import stream. It returns
// its path and the commits by mark. Everything in a stream is fixed, so the commits are
// the same in every run.
func importRepository(t testing.TB, stream string) (dir string, commits map[string]string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "odd.git")
	marks := filepath.Join(t.TempDir(), "marks")
	in, err := os.Open(stream)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	runGit(t, nil, "init", "--quiet", "--bare", "--initial-branch=main", dir)
	runGit(t, in, "-C", dir, "fast-import", "--quiet", "--export-marks="+marks)
	b, err := os.ReadFile(marks)
	if err != nil {
		t.Fatal(err)
	}
	commits = map[string]string{}
	for line := range strings.Lines(string(b)) {
		mark, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		commits["<"+mark[1:]+">"] = id
	}
	return dir, commits
}

func runGit(t testing.TB, stdin io.Reader, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "git", args...)
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	c.Stdin = stdin
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestSource runs the scripts of testdata/source against a server that has indexed
// testdata/odd.fastimport with its branches release/*. A command is
//
//	METHOD /path?query
//
// with the body as input. <N> is replaced by the commit with mark N, and \0 by a NUL
// byte. Every response is checked against the OpenAPI document.
func TestSource(t *testing.T) {
	t.Parallel()
	dir, commits := importRepository(t, "testdata/odd.fastimport")
	s := runServer(t, testConfig(t, "git.allowedRoots="+filepath.Dir(dir), "publicUrl=https://code.example"))
	var r registration
	if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"name":"odd","codeHostType":"github","webUrl":"https://github.com/meadow/odd","branches":["release/*"]}`, dir), &r); status != http.StatusAccepted {
		t.Fatalf("register: %d %s", status, r.Message)
	}
	awaitStatus(t, s, r.RepoID, r.isApplied)
	script := &sourceScript{server: s.URL(), commits: commits, router: openapitest.NewRouter(t, openapitest.Load(t))}
	datadriven.Walk(t, "testdata/source", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, script.runCommand)
	})
}

type sourceScript struct {
	server  string
	commits map[string]string
	router  routers.Router
}

func (x *sourceScript) runCommand(t *testing.T, d *datadriven.TestData) string {
	address := d.CmdArgs[0].Key
	if len(d.CmdArgs[0].Vals) > 0 {
		address += "=" + strings.Join(d.CmdArgs[0].Vals, ",")
	}
	body := d.Input
	for mark, id := range x.commits {
		address, body = strings.ReplaceAll(address, mark, id), strings.ReplaceAll(body, mark, id)
	}
	address = strings.ReplaceAll(address, "LONG", strings.Repeat("a", 100_000))
	request, err := http.NewRequestWithContext(t.Context(), d.Cmd, x.server+address, strings.NewReader(strings.ReplaceAll(body, "LONG", strings.Repeat("a", 100_000))))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	x.validateResponse(t, d.Pos, request, response, answer)
	return x.printResponse(t, response, answer)
}

func (x *sourceScript) validateResponse(t *testing.T, pos string, request *http.Request, response *http.Response, answer []byte) {
	t.Helper()
	relative := request.Clone(context.Background())
	relative.URL.Scheme, relative.URL.Host, relative.Host = "", "", ""
	route, params, err := x.router.FindRoute(relative)
	if err != nil {
		t.Errorf("%s: %v", pos, err)
		return
	}
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: relative, Route: route, PathParams: params},
		Status:                 response.StatusCode, Header: response.Header,
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true, MultiError: true,
			// The library can only read JSON; status and headers are checked anyway.
			ExcludeResponseBody: !strings.Contains(response.Header.Get("Content-Type"), "json") || strings.Contains(response.Header.Get("Content-Type"), "ndjson"),
		},
	}
	in.SetBodyBytes(answer)
	if err := openapi3filter.ValidateResponse(context.Background(), in); err != nil {
		t.Errorf("%s: the answer is not what quarry.yaml says: %v", pos, err)
	}
}

func (x *sourceScript) printResponse(t *testing.T, response *http.Response, answer []byte) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", response.StatusCode)
	for _, name := range []string{"X-Total-Count", "Link"} {
		if v := response.Header.Get(name); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, answer, "", " "); err != nil {
		t.Errorf("body %q: %v", answer, err)
	}
	if response.StatusCode != http.StatusOK {
		indented.Reset()
		_ = json.Compact(&indented, answer) // it is valid JSON, see above
	}
	b.Write(bytes.TrimSpace(indented.Bytes()))
	out := b.String() + "\n"
	for mark, id := range x.commits {
		out = strings.ReplaceAll(out, id, mark)
	}
	return out
}

// TestLargeFiles checks that files above the size limit of the index are shown up to the
// limit of the view, and refused beyond it.
func TestLargeFiles(t *testing.T) {
	t.Parallel()
	dir := gitTree(t, map[string]string{
		"indexed.txt": "small\n", "large.txt": strings.Repeat("all of it is text\n", 3<<20/18), "huge.txt": strings.Repeat("too much of it\n", 9<<20/15),
	})
	s := runIndexedServer(t, dir)
	for path, want := range map[string]int{"indexed.txt": http.StatusOK, "large.txt": http.StatusOK, "huge.txt": http.StatusUnprocessableEntity} {
		status, body := getURL(t, s.URL()+"/api/source?repo=tree&path="+path)
		if status != want || status == http.StatusUnprocessableEntity && !strings.Contains(body, `"RESULT_TOO_LARGE"`) {
			t.Errorf("source of %s: %d %.200s; want %d", path, status, body, want)
		}
	}
	if status, body := getURL(t, s.URL()+"/api/blame?repo=tree&path=huge.txt"); status != http.StatusUnprocessableEntity {
		t.Errorf("blame of a file that is too large: %d %.200s", status, body)
	}
}

// TestSourceWithTokensAndSymbols checks that tokens and symbols have offsets in the
// returned text, whatever bytes the file contains.
func TestSourceWithTokensAndSymbols(t *testing.T) {
	t.Parallel()
	text := "package kettle\n\n// Boil heats äöüäöü \xff it.\nfunc Boil(seconds int) bool {\n\treturn true // \"no\"\n}\n"
	dir := gitTree(t, map[string]string{"boil.go": text, "notes.md": "# Notes\n\nof it\n"})
	s := runIndexedServer(t, dir)
	read := func(query string) (answer wire.FileSource) {
		t.Helper()
		status, body := getURL(t, s.URL()+"/api/source?repo=tree&"+query)
		if status != http.StatusOK {
			t.Fatalf("%s: %d %.200s", query, status, body)
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		return answer
	}

	plain := read("path=boil.go")
	if len(plain.Symbols) > 0 || len(plain.Tokens.Data) > 0 {
		t.Errorf("without parameters: %d symbols, %d numbers of tokens", len(plain.Symbols), len(plain.Tokens.Data))
	}

	a := read("path=boil.go&tokens=1&symbols=1")
	var words []string
	at := 0
	for i := 0; i+2 < len(a.Tokens.Data); i += 3 {
		start := at + a.Tokens.Data[i]
		at = start + a.Tokens.Data[i+1]
		if class := a.Tokens.Classes[a.Tokens.Data[i+2]]; class == "definition" || class == "comment" {
			words = append(words, fmt.Sprintf("%s %s", class, a.Source[start:at]))
		}
	}
	want := []string{"definition kettle", "comment // Boil heats äöüäöü \uFFFD it.", "definition Boil", `comment // "no"`}
	if !slices.Equal(words, want) || !a.Tokens.IsWhole {
		t.Errorf("tokens %q, whole %v; want %q", words, a.Tokens.IsWhole, want)
	}
	if len(a.Symbols) != 2 {
		t.Fatalf("%d symbols; want the package and the function", len(a.Symbols))
	}
	boil := a.Symbols[1]
	body := a.Source[boil.BodyRange.Start:boil.BodyRange.End]
	if a.Source[boil.NameRange.Start:boil.NameRange.End] != "Boil" || boil.Line != 4 || boil.Column != 6 || boil.EndLine != 6 ||
		boil.Signature != "func Boil(seconds int) bool" || boil.Doc != "Boil heats äöüäöü \uFFFD it." || boil.Visibility != "public" || boil.IsDeclaration ||
		!strings.HasPrefix(body, "{") || !strings.HasSuffix(body, "}") {
		t.Errorf("the function is %+v, its body %q", boil, body)
	}

	prose := read("path=notes.md&tokens=1&symbols=1")
	if len(prose.Tokens.Data) > 0 || !prose.Tokens.IsWhole || len(prose.Symbols) != 1 || prose.Symbols[0].Kind != "chapter" {
		t.Errorf("prose has tokens %v and symbols %+v", prose.Tokens.Data, prose.Symbols)
	}
	if status, body := getURL(t, s.URL()+"/api/source?repo=tree&path=boil.go&tokens=2"); status != http.StatusBadRequest || !strings.Contains(body, "tokens") {
		t.Errorf("tokens=2: %d %.200s; want 400 that names the parameter", status, body)
	}
}

func TestSourceOfASHA256Repository(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "odd.git")
	stream, err := os.Open("testdata/odd.fastimport")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	runGit(t, nil, "init", "--quiet", "--bare", "--initial-branch=main", "--object-format=sha256", dir)
	b, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	submodule := []byte("0123456789012345678901234567890123456789")
	b = bytes.ReplaceAll(b, submodule, bytes.Repeat([]byte("12345678"), 8))
	runGit(t, bytes.NewReader(b), "-C", dir, "fast-import", "--quiet")
	s := runIndexedServer(t, dir)
	head := runGit(t, nil, "-C", dir, "rev-parse", "main")
	for path, want := range map[string]string{
		"/api/source?repo=tree&path=src/new.go":                              `"source":"package kettle`,
		"/api/source?repo=tree&path=src/old.go&ref=main~2":                   `"source":"package kettle`,
		"/api/source?repo=tree&path=src/new.go&ref=" + head:                  `"source":"package kettle`,
		"/api/source?repo=tree&path=src/new.go&ref=" + head[:10]:             `"source":"package kettle`,
		"/api/folder_contents?repoName=tree&revisionName=main~1&path=vendor": `"type":"commit"`,
		"/api/commit?repo=tree&ref=HEAD":                                     `"hash":"` + head,
		"/api/blame?repo=tree&path=src/new.go":                               `"path":"src/old.go"`,
		"/api/diff?repo=tree&base=main~2&head=main~1":                        `"oldPath":"src/old.go","newPath":"src/new.go"`,
	} {
		if status, body := getURL(t, s.URL()+path); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %.500s; want %s", path, status, body, want)
		}
	}
}

// runIndexedServer returns a server that has indexed a repository under the name tree.
func runIndexedServer(t *testing.T, dir string) *Server {
	t.Helper()
	s := runServer(t, testConfig(t, "git.allowedRoots="+filepath.Dir(dir)))
	var r registration
	if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"name":"tree"}`, dir), &r); status != http.StatusAccepted {
		t.Fatalf("register: %d %s", status, r.Message)
	}
	awaitStatus(t, s, r.RepoID, r.isApplied)
	return s
}
