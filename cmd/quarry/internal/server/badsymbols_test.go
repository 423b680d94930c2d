package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// TestBadSymbols requests symbols, positions and languages that do not or cannot exist.
// The response has no results and a notice with the reason, or an error that names the
// field.
func TestBadSymbols(t *testing.T) {
	t.Parallel()
	dir := gitTree(t, map[string]string{
		"main.go":  "package p\n\n// boil is a comment.\nfunc boil() string { return \"boil\" + `😀` }\n",
		"data.xyz": "boil and boil\n", "logo.png": "\x89PNG\r\n\x1a\n\x00\x00", "empty.go": "",
	})
	s := runServer(t, testConfig(t, "git.allowedRoots="+filepath.Dir(dir), "access.anonymous=on", "limits.anonymousPerSecond=0"))
	var r registration
	if status := postJSON(t, s.URL()+"/api/repos", fmt.Sprintf(`{"path":%q,"name":"pots"}`, dir), &r); status != http.StatusAccepted {
		t.Fatalf("register: %d %s", status, r.Message)
	}
	awaitStatus(t, s, r.RepoID, r.isApplied)
	at := func(path string, line, column int) string {
		return fmt.Sprintf(`,"position":{"repoName":"pots","path":%q,"lineNumber":%d,"column":%d}`, path, line, column)
	}
	long := strings.Repeat("x", 10<<10)
	const nothing = `"files":[]`
	for _, c := range []struct {
		body   string // after symbolName
		symbol string
		status int
		says   string
	}{
		{at("main.go", 4, 6), "boil", 200, `"relation":"meaning"`},
		{at("main.go", 4, 5), "boil", 200, "There is no boil at line 4 of main.go in pots"},      // a blank
		{at("main.go", 4, 11), "boil", 200, "There is no boil at line 4 of main.go in pots"},     // a bracket
		{at("main.go", 3, 1), "boil", 200, "There is no boil at line 3 of main.go in pots"},      // a comment
		{at("main.go", 4, 22), "string", 200, "There is no string at line 4 of main.go in pots"}, // a keyword
		{at("main.go", 2, 1), "boil", 200, "There is no boil at line 2"},
		{at("main.go", 4, 2147483647), "boil", 200, "There is no boil at line 4"},
		{at("main.go", 2147483647, 1), "boil", 200, "There is no boil at line 2147483647"},
		{at("main.go", 4, 6), "Boil", 200, "There is no Boil at line 4"},
		{at("empty.go", 1, 1), "boil", 200, "There is no boil at line 1"},
		{at("logo.png", 1, 1), "PNG", 200, "There is no PNG at line 1"},
		{at("none.go", 1, 1), "boil", 200, "or that file is not indexed"},
		{at(`..\n/etc`, 1, 1), "boil", 200, "or that file is not indexed"},
		{`,"position":{"repoName":"none","path":"main.go","lineNumber":4}`, "boil", 200, "There is no boil at line 4 of main.go in none"},
		{`,"position":{"repoName":"pots","revisionName":"none","path":"main.go","lineNumber":4}`, "boil", 200, "There is no boil at line 4"},
		{at("main.go", 0, 1), "boil", 400, "position.lineNumber"},
		{at("main.go", 1, 0), "boil", 400, "position.column"},
		{at("", 1, 1), "boil", 400, "position.path"},
		{at(long, 1, 1), "boil", 400, "position.path"},
		{"", long, 400, "symbolName"},
		{at("main.go", 4, 6), long, 400, "symbolName"},
		{"", "", 400, "symbolName"},
		{"", "two\nlines", 400, "symbolName"},
		{"", "nul\x00", 400, "symbolName"},
		{"", "(*[", 200, nothing},
		{"", "\U0001F600", 200, nothing},
		{`,"language":"Klingon"`, "boil", 200, "Klingon"},
		{fmt.Sprintf(`,"language":%q`, long), "boil", 400, "language"},
		{`,"repoName":"none"`, "boil", 200, "none"},
		{`,"revisionName":"none"`, "boil", 200, "none"},
	} {
		name, err := json.Marshal(c.symbol)
		if err != nil {
			t.Fatal(err)
		}
		for _, operation := range []string{"find_definitions", "find_references"} {
			var out json.RawMessage
			status := postJSON(t, s.URL()+"/api/"+operation, fmt.Sprintf(`{"symbolName":%s%s}`, name, c.body), &out)
			isFound := strings.Contains(string(out), `"lineContent"`)
			if operation == "find_references" && c.symbol == "\U0001F600" { // counted: it occurs in a string
				c.says = `"textMatchCount":1`
			}
			if status != c.status || !strings.Contains(string(out), c.says) || isFound != (c.says == `"relation":"meaning"`) {
				t.Errorf("%s %.80q %.200s: %d, want %d with %q:\n%.600s", operation, c.symbol, c.body, status, c.status, c.says, out)
			}
		}
	}
	for address, want := range map[string]string{
		"repo=pots&kind=spoon": "kind: want one of", "repo=pots&prefix=" + long: "prefix", "repo=pots&parent=" + long: "parent",
		"": "repo", "repo=none": "not found", "repo=pots&path=none.go": `"symbols":[]`, "repo=pots&ref=none": `"symbols":[]`, "repo=pots&parent=%00": "",
	} {
		if status, text := getURL(t, s.URL()+"/api/symbols?"+address); status >= 500 || !strings.Contains(text, want) || status == 200 && !strings.Contains(text, `"symbols":[]`) {
			t.Errorf("%.80s: %d, want %q:\n%.600s", address, status, want, text)
		}
	}
}
