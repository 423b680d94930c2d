package server

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/auth/oidc/oidctest"
	"github.com/quarrysearch/quarry/query/source"
)

// walkedFiles are the files of the repository that TestBrowsePages walks through.
func walkedFiles() map[string]string {
	pixel, _ := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	var long strings.Builder
	for n := 1; n <= 100_000; n++ {
		fmt.Fprintf(&long, "\tline%06d := \"text\" // %d\n", n, n)
	}
	wide := strings.Repeat("w=", 300)
	formulas := "$$\\frac{1}{2}$$\n\n$$\\def\\a#1{#1#1}\\a{x}$$\n\n$$\\begin{equation}x\\label{tree}\\end{equation}$$\n\n$$\\ref{tree}$$\n\n$$" + wide + "$$\n\nIn a line $" + wide + "$\n\n"
	return map[string]string{
		"README.md":     "# Walk\n\n![pixel](img/pixel.png) and [code](src/main.go#L3)\n\n<script>alert(1)</script>\n<img src=x onerror=alert(2)>\n\n" + formulas + "```go\nfunc f() {}\n```\n",
		"src/main.go":   "package main\n\n// Run runs.\nfunc Run() int {\n\treturn 1\n}\n\ntype Walker struct{ Steps int }\n\nfunc main() { Run() }\n",
		"src/tall.go":   "package main\n\nfunc Tall() {\n" + strings.Repeat("\t_ = 1\n", 100) + "}\n",
		"src/old.txt":   strings.Repeat("a file that will be renamed\n", 20),
		"src/gone.txt":  "a file that will be deleted\n",
		"img/pixel.png": string(pixel),
		"book.ipynb":    `{"nbformat":4,"metadata":{"language_info":{"name":"python"}},"cells":[{"cell_type":"markdown","source":"# Cell <b>one</b>"},{"cell_type":"code","execution_count":1,"source":"print(1)","outputs":[{"text":"1\n"},{"data":{"image/png":"` + base64.StdEncoding.EncodeToString(pixel) + `"}}]}]}`,
		"long.go":       long.String(),
		"one-line.txt":  strings.Repeat("a line of two megabytes ", 2<<20/24),
		"odd.txt":       "a \u202e\u2066 b\x1b[31m\n<img src=x onerror=alert(3)>\n",
		"latin.txt":     "gr\xf6\xdfe \xff\x00\x01\n",
		strings.Repeat("a-directory-with-a-long-name-"+strings.Repeat("x", 200)+"/", 16) + "deep.txt": "deep\n",
	}
}

// TestBrowsePages walks through the pages about code in a real browser, with and without
// scripts. QUARRY_WEB_SHOTS=DIR saves screenshots.
func TestBrowsePages(t *testing.T) {
	t.Parallel()
	modules, program := oidctest.Modules(t, "playwright-core"), oidctest.Browser(t)
	axe := filepath.Join(oidctest.Modules(t, "axe-core"), "axe-core", "axe.min.js")
	dir := gitTree(t, walkedFiles())
	git := func(args ...string) {
		runGit(t, nil, append([]string{"-C", dir, "-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, args...)...)
	}
	git("mv", "src/old.txt", "src/new.txt")
	git("rm", "--quiet", "src/gone.txt")
	if err := os.WriteFile(filepath.Join(dir, "src/main.go"), []byte(strings.Replace(walkedFiles()["src/main.go"], "return 1", "return 2", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	git("add", "-A")
	git("commit", "--quiet", "--message", "return two, rename and delete")
	s := servingOdd(t, filepath.Dir(dir))
	var r registration
	if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"name":"code.example/walk"}`, dir), &r); status != http.StatusAccepted {
		t.Fatalf("register: %d %s", status, r.Message)
	}
	awaitStatus(t, s, r.RepoID, r.isApplied)
	for _, scripts := range []bool{false, true} {
		t.Run(fmt.Sprintf("scripts=%t", scripts), func(t *testing.T) {
			t.Parallel()
			argument, err := json.Marshal(map[string]any{
				"modules": modules, "browser": program, "axe": axe, "base": s.URL(), "scripts": scripts, "shots": os.Getenv("QUARRY_WEB_SHOTS"),
				"odd": source.Address{Repository: oddName, Kind: source.PageTree}.String(),
			})
			if err != nil {
				t.Fatal(err)
			}
			if said, err := exec.CommandContext(t.Context(), "node", "testdata/browse.mjs", string(argument)).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
		})
	}
}
