package openapi_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3filter"

	"github.com/quarrysearch/quarry/schemas/openapi/openapitest"
)

var (
	curlURL        = regexp.MustCompile(`http://127\.0\.0\.1:7070(/api/[^\s'"]*)`)
	curlMethod     = regexp.MustCompile(` -X ([A-Z]+)`)
	curlBody       = regexp.MustCompile(` -d '([^']*)'`)
	namedOperation = regexp.MustCompile("`(GET|POST|PUT|PATCH|DELETE) (/api/[^`?\\s…]*)")
	pathParameter  = regexp.MustCompile(`\{[^}]*\}`)
)

// TestDocumentedRequests validates the requests of the curl commands in the pages, and
// looks up the operations that the pages name.
func TestDocumentedRequests(t *testing.T) {
	document := openapitest.Load(t)
	router := openapitest.NewRouter(t, document)
	known := map[string]bool{}
	for path, item := range document.Paths.Map() {
		for method := range item.Operations() {
			known[method+" "+pathParameter.ReplaceAllString(path, "{}")] = true
		}
	}
	commands, names := 0, 0
	for name, text := range readPages(t) {
		for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", "")) {
			url := curlURL.FindStringSubmatch(line)
			if !strings.Contains(line, "curl ") || url == nil {
				continue
			}
			commands++
			method, body := http.MethodGet, ""
			if m := curlBody.FindStringSubmatch(line); m != nil {
				method, body = http.MethodPost, m[1]
			}
			if m := curlMethod.FindStringSubmatch(line); m != nil {
				method = m[1]
			}
			r, err := http.NewRequestWithContext(t.Context(), method, url[0], strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			route, parameters, err := router.FindRoute(r)
			if err != nil {
				t.Errorf("%s: %s %s: %v", name, method, url[1], err)
				continue
			}
			if err := openapi3filter.ValidateRequest(t.Context(), &openapi3filter.RequestValidationInput{
				Request: r, PathParams: parameters, Route: route,
				Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
			}); err != nil {
				t.Errorf("%s: %s %s %s: %v", name, method, url[1], body, err)
			}
		}
		for _, m := range namedOperation.FindAllStringSubmatch(strings.Join(strings.Fields(text), " "), -1) {
			if names++; !known[m[1]+" "+pathParameter.ReplaceAllString(m[2], "{}")] {
				t.Errorf("%s names %s %s, which the document does not have", name, m[1], m[2])
			}
		}
	}
	if commands < 7 || names < 100 {
		t.Errorf("%d commands and %d names of operations found: the patterns of this test no longer match the pages", commands, names)
	}
}

// TestDocumentedAnswer checks that the answer that docs/api.md explains is a part of the
// example of the document.
func TestDocumentedAnswer(t *testing.T) {
	_, block, _ := strings.Cut(readPages(t)["api.md"], "### An answer, member by member\n\n```json\n")
	block, _, _ = strings.Cut(block, "```\n")
	var documented any
	if err := json.Unmarshal([]byte(block), &documented); err != nil {
		t.Fatal(err)
	}
	search := openapitest.Load(t).Paths.Value("/api/search").Post
	checkPart(t, "answer", documented, search.Responses.Value("200").Value.Content.Get("application/json").Example)
}

// checkPart checks that part has no member and no value that whole does not have. The
// member "…" stands for others.
func checkPart(t *testing.T, path string, part, whole any) {
	t.Helper()
	switch part := part.(type) {
	case map[string]any:
		object, ok := whole.(map[string]any)
		for name, v := range part {
			if _, has := object[name]; name != "…" && (!ok || !has) {
				t.Errorf("%s.%s is not in the example of the document", path, name)
			} else if name != "…" {
				checkPart(t, path+"."+name, v, object[name])
			}
		}
	case []any:
		list, ok := whole.([]any)
		if !ok || len(list) != len(part) {
			t.Errorf("%s: %v, but %v in the example of the document", path, part, whole)
			return
		}
		for i, v := range part {
			checkPart(t, path+"[]", v, list[i])
		}
	default:
		if part != whole {
			t.Errorf("%s: %v, but %v in the example of the document", path, part, whole)
		}
	}
}

// readPages returns the pages of docs and README.md, by the names of their files.
func readPages(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	pages := map[string]string{}
	for _, file := range append(files, "../../README.md") {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.Base(file)] = string(b)
	}
	return pages
}
