package publicurl_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/publicurl"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"https://code.example":                 "https://code.example",
		"https://code.example/":                "https://code.example",
		"http://code.example:8080/quarry":      "http://code.example:8080/quarry",
		"https://code.example/tools/quarry-2/": "https://code.example/tools/quarry-2",
		"https://code.example/~ada/q_1.0":      "https://code.example/~ada/q_1.0",
	} {
		if u, err := publicurl.Parse(text); err != nil || u.String() != want || u.Origin()+u.Path() != want {
			t.Errorf("%s: %v, %v; want %s", text, u, err, want)
		}
	}
	for text, says := range map[string]string{
		"":                                                 "no http or https URL",
		"code.example":                                     "no http or https URL",
		"ftp://code.example":                               "no http or https URL",
		"https:///quarry":                                  "no http or https URL",
		"https://code.example/%zz":                         "no http or https URL",
		"https://u:s3cret@code.example/quarry":             "user or a password",
		"https://code.example/quarry?x=1":                  "query or a fragment",
		"https://code.example/quarry?":                     "query or a fragment",
		"https://code.example/quarry#x":                    "query or a fragment",
		"https://code.example/a b":                         "is not supported",
		"https://code.example/%71uarry":                    "is not supported",
		"https://code.example/größe":                       "is not supported",
		"https://code.example/a;b":                         "is not supported",
		`https://code.example/a"b`:                         "is not supported",
		"https://code.example/a//b":                        "is not supported",
		"https://code.example/../b":                        "is not supported",
		"https://code.example/a/./b":                       "is not supported",
		"https://code.example//evil.example":               "is not supported",
		"https://code.example/" + strings.Repeat("a", 200): "is not supported",
		"https://code.example/api":                         "own pages (/api)",
		"https://code.example/search/quarry":               "own pages (/search)",
		"https://code.example/~":                           "own pages (/~)",
	} {
		_, err := publicurl.Parse(text)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

func TestResolve(t *testing.T) {
	below, err := publicurl.Parse("https://code.example/quarry")
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"/": "/quarry/", "/repos?page=2#x": "/quarry/repos?page=2#x", "/quarryx": "/quarry/quarryx",
		"/quarry": "/quarry", "/quarry/": "/quarry/", "/quarry?x": "/quarry?x", "/quarry#x": "/quarry#x", "/quarry/repos": "/quarry/repos",
		"": "", "?page=2": "?page=2", "#x": "#x", "//evil.example/": "//evil.example/", "https://host.example/x": "https://host.example/x", "vscode://file/x": "vscode://file/x",
	} {
		if got := below.Resolve(address); got != want {
			t.Errorf("%s leads to %s, want %s", address, got, want)
		}
		if got := (publicurl.URL{}).Resolve(address); got != address {
			t.Errorf("at the root, %s leads to %s", address, got)
		}
	}
}

// TestHandler sends requests with and without the path: what is behind sees none of it, and
// the redirects and links of its responses have it.
func TestHandler(t *testing.T) {
	below, err := publicurl.Parse("https://code.example/quarry")
	if err != nil {
		t.Fatal(err)
	}
	handler := below.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Seen", r.URL.RequestURI())
		w.Header().Set("Link", `</api/repos?page=2>; rel="next", </api/repos?page=3>; rel="last"`)
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusSeeOther)
		}
		_, _ = w.Write([]byte("x")) // the recorder takes it
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
	}))
	for target, want := range map[string]string{
		"/quarry/repos?a=b":       "/repos?a=b",
		"/quarry":                 "/",
		"/quarry?a=b":             "/?a=b",
		"/quarry/":                "/",
		"/quarry/quarry/":         "/quarry/",
		"/quarry/browse/a%2Fb":    "/browse/a%2Fb",
		"/repos":                  "/repos",
		"/quarryx/repos":          "/quarryx/repos",
		"/%71uarry/repos":         "/%71uarry/repos",
		"/quarry%2Frepos":         "/quarry%2Frepos",
		"/quarry/x?to=/sign-in":   "/x?to=/sign-in",
		"/quarry/x?to=/quarry/y":  "/x?to=/quarry/y",
		"/quarry/x?to=http://h/y": "/x?to=http://h/y",
	} {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, target, nil))
		if got := answer.Header().Get("Seen"); got != want {
			t.Errorf("%s is seen as %s, want %s", target, got, want)
		}
		if got, want := answer.Header().Get("Link"), `</quarry/api/repos?page=2>; rel="next", </quarry/api/repos?page=3>; rel="last"`; got != want {
			t.Errorf("%s: Link: %s, want %s", target, got, want)
		}
		_, to, _ := strings.Cut(target, "to=")
		if got := answer.Header().Get("Location"); got != below.Resolve(to) {
			t.Errorf("%s leads to %s, want %s", target, got, below.Resolve(to))
		}
		if body := answer.Body.String(); body != "x" {
			t.Errorf("%s: the body is %q", target, body)
		}
	}
	root := http.NotFoundHandler()
	if got := (publicurl.URL{}).Handler(root); got == nil {
		t.Error("no handler at the root")
	}
}
