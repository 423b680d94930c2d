package web_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPreferences sets display preferences, and finds them in the first bytes of the next
// page.
func TestPreferences(t *testing.T) {
	w := newWorld(t, nil)
	b := w.browser
	if b.get("/preferences?return=/sign-in"); !strings.Contains(b.page, "<html lang=\"en\">") {
		t.Errorf("a browser that chose nothing has %.120s", b.page)
	}
	b.submitForm("/preferences", "", "theme=dark", "density=compact", "keys=off").leadsTo("/sign-in")
	if want := `<html lang="en" data-theme="dark" data-density="compact" data-keys="off">`; !strings.Contains(b.get("/sign-in").page, want) {
		t.Errorf("want %s in %.120s", want, b.page)
	}
	if b.get("/preferences"); strings.Count(b.page, " checked") != 3 || !strings.Contains(b.page, `value="dark" checked`) {
		t.Errorf("the page does not show what was chosen:\n%s", b.page)
	}
	// Values that no page offers are rejected, in a form and in a cookie; so is an open
	// redirect.
	b.postForm("/preferences", map[string][]string{"theme": {`"><script>`}, "return": {"//evil.test"}}).leadsTo("/")
	if b.get("/"); !strings.Contains(b.page, `<html lang="en">`) {
		t.Errorf("an unknown theme was taken: %.120s", b.page)
	}
	b.postForm("/preferences", map[string][]string{"theme": {strings.Repeat("dark", 1<<20)}}).expectPage(http.StatusRequestEntityTooLarge)
	r, err := http.NewRequest(http.MethodGet, w.server.URL+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Cookie", "quarry_preferences=theme=dark;x; density=%zz")
	if b.doRequest(r); b.status != http.StatusOK {
		t.Errorf("a damaged cookie: %d", b.status)
	}
}

// TestStaticFiles checks that a file is sent compressed, and not again to a browser that
// has it, and that the files of a page fit their budgets.
func TestStaticFiles(t *testing.T) {
	w := newWorld(t, nil)
	page := w.browser.get("/").page
	budgets := map[string]int{".css": 12 << 10, ".js": 15 << 10, ".svg": 8 << 10, ".txt": 16 << 10}
	for _, path := range regexp.MustCompile(`/static/[a-z]+-[0-9a-f]{12}\.[a-z]+`).FindAllString(page, -1) {
		size := int64(0)
		get := func(coding, tag string) *http.Response {
			r, err := http.NewRequest(http.MethodGet, w.server.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Accept-Encoding", coding)
			r.Header.Set("If-None-Match", tag)
			response, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if size, err = io.Copy(io.Discard, response.Body); err != nil {
				t.Fatal(err)
			}
			return response
		}
		plain, packed := get("identity", ""), get("br, gzip;q=0.5", "")
		if most := int64(budgets[filepath.Ext(path)]); size == 0 || size > most {
			t.Errorf("%s: %d bytes, want at most %d", path, size, most)
		}
		if plain.Header.Get("Content-Encoding") != "" || get("gzip;q=0", "").Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: a browser without gzip gets it", path)
		}
		if packed.Header.Get("Content-Encoding") != "gzip" || packed.Header.Get("ETag") == plain.Header.Get("ETag") {
			t.Errorf("%s: %v", path, packed.Header)
		}
		if again := get("gzip", packed.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
			t.Errorf("%s: %d for a browser that has it", path, again.StatusCode)
		}
	}
}

// TestScriptBudgets checks the compressed sizes of the scripts of results, files and formulas.
func TestScriptBudgets(t *testing.T) {
	for name, most := range map[string]int{"results.js": 40 << 10, "code.js": 40 << 10, "math.js": 64 << 10} {
		body, err := os.ReadFile(filepath.Join("static", name))
		if err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write(body); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		if packed.Len() > most {
			t.Errorf("%s: %d bytes, want at most %d", name, packed.Len(), most)
		}
	}
}

// TestTexts checks that every text that a page or script uses is in the catalog, and that
// the catalog contains no unused text.
func TestTexts(t *testing.T) {
	files, err := filepath.Glob("text/en*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	catalogue := map[string]any{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &catalogue); err != nil {
			t.Fatal(err)
		}
		keys := regexp.MustCompile(`(?m)^  "([^"]+)":`).FindAllStringSubmatch(string(b), -1)
		if !slices.IsSortedFunc(keys, func(a, b []string) int { return strings.Compare(a[1], b[1]) }) {
			t.Errorf("%s is not sorted by key", file)
		}
	}
	named := map[string]bool{}
	for pattern, use := range map[string]*regexp.Regexp{
		"pages/*.html":     regexp.MustCompile(`\btext (?:\(print )?"([^"]+)"`),
		"*.go":             regexp.MustCompile(`(?:mustFormat|\.format)\("([^"]+)"`),
		"scripts/*.js":     regexp.MustCompile(`\btexts\.([A-Za-z_0-9]+)`),
		"scripts/lib/*.js": regexp.MustCompile(`\btexts\.([A-Za-z_0-9]+)`),
	} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range use.FindAllStringSubmatch(string(source), -1) {
				named[key[1]] = true
				isPrefix := strings.HasSuffix(key[1], "_") // a value follows
				if _, ok := catalogue[key[1]]; !ok && !isPrefix {
					t.Errorf("%s: no text %q", file, key[1])
				}
			}
		}
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range sources {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, literal := range regexp.MustCompile(`"([A-Za-z_0-9]+)"`).FindAllStringSubmatch(string(source), -1) {
			named[literal[1]] = true // keys of tables
		}
	}
	for key := range catalogue {
		used := named[key]
		for i := range key {
			used = used || key[i] == '_' && named[key[:i+1]]
		}
		if !used {
			t.Errorf("text %q is not used", key)
		}
	}
}

// TestHighContrastIsOneTheme checks that the theme of high contrast has the same colors
// whether the reader or the system chooses it: CSS has no way to write them once.
func TestHighContrastIsOneTheme(t *testing.T) {
	text, err := os.ReadFile("styles/10-tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	colors := func(selector string) string {
		_, rest, _ := strings.Cut(string(text), selector+" {\n")
		block, _, _ := strings.Cut(rest, "\n}")
		return block
	}
	chosen, preferred := colors("[data-theme=contrast]"), colors(":root:not([data-theme])")
	if chosen == "" || chosen != preferred {
		t.Errorf("the reader's choice has\n%s\nthe system's has\n%s", chosen, preferred)
	}
}
