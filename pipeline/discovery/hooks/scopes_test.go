package hooks

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/pipeline/discovery/hosttest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestMissingScopeIsNamed checks that a token that may not register webhooks gets an error
// with every scope and permission of the table in docs/connections.md.
func TestMissingScopeIsNamed(t *testing.T) {
	page, err := os.ReadFile("../../../docs/connections.md")
	if err != nil {
		t.Fatal(err)
	}
	status := http.StatusForbidden
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hosttest.WriteJSON(w, status, map[string]string{"message": "no"})
	}))
	defer server.Close()
	_, table, _ := strings.Cut(string(page), "| kind | To find and clone repositories | To register webhooks |")
	for kind := range scopes {
		_, row, _ := strings.Cut(table, "| `"+string(kind)+"` |")
		row, _, _ = strings.Cut(row, "\n")
		cells := strings.Split(row, "|")
		if len(cells) != 3 {
			t.Fatalf("docs/connections.md has no row of three cells for %s: %q", kind, row)
		}
		needs := regexp.MustCompile("`[a-z_:]+`|\\*[^*]+\\*").FindAllString(cells[1], -1)
		c := discovery.Connection{Name: "hub", Kind: kind, URL: server.URL, Token: "t", Targets: discovery.Targets{Repos: []string{"acme/kettle"}, Projects: []string{"acme/kettle"}}}
		if kind == code.AzureDevOps {
			c.Targets = discovery.Targets{Projects: []string{"acme/kettle"}}
		}
		for status = range map[int]bool{http.StatusForbidden: true, http.StatusNotFound: true} {
			r, err := Open(c, hostapi.NewTransport(hostapi.Options{}).Client(), address, secret)
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			for _, got := range r.Install(t.Context()) {
				if got.Err == nil || hostapi.CodeOf(got.Err) != hostapi.Forbidden && hostapi.CodeOf(got.Err) != hostapi.NotFound {
					t.Errorf("%s answers %d: %v", kind, status, got.Err)
					continue
				}
				for _, need := range needs {
					if name := strings.Trim(need, "`*"); name != "quarry hooks remove" && name != "Project Administrators" && !strings.Contains(got.Err.Error(), name) {
						t.Errorf("%s answers %d: %q does not name %s", kind, status, got.Err, name)
					}
				}
			}
		}
	}
}
