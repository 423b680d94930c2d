package reconcile

import (
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
)

func TestDescribeMoved(t *testing.T) {
	for _, tc := range []struct {
		what          string
		known         code.Repository
		to            string
		name, display string
		web           string
	}{
		{"renamed", code.Repository{Name: "h/acme/old", DisplayName: "acme/old", CloneURL: "https://h/acme/old.git", WebURL: "https://h/acme/old", Connection: "hub"}, "https://h/acme/new.git", "h/acme/new", "acme/new", "https://h/acme/new"},
		{"transferred", code.Repository{Name: "h/acme/old", DisplayName: "acme/old", CloneURL: "https://h/acme/old.git", WebURL: "https://h/acme/old", Connection: "hub"}, "https://h/tea/group/new.git", "h/tea/group/new", "tea/group/new", "https://h/tea/group/new"},
		{"renamed at Bitbucket Server", code.Repository{Name: "h/ACME/old", DisplayName: "ACME/old", CloneURL: "https://h/scm/acme/old.git", WebURL: "https://h/projects/ACME/repos/old", Connection: "hub"}, "https://h/scm/acme/new.git", "h/ACME/new", "ACME/new", "https://h/projects/ACME/repos/new"},
		{"registered by hand under a chosen name", code.Repository{Name: "old", CloneURL: "https://h/acme/old.git"}, "https://h/acme/new.git", "old", "", ""},
		{"registered by hand", code.Repository{Name: "h/acme/old", CloneURL: "https://h/acme/old.git"}, "https://h/acme/new.git", "h/acme/new", "", ""},
		{"a name that only ends like the path", code.Repository{Name: "h/acme/very-old", CloneURL: "https://h/acme/old.git", Connection: "hub"}, "https://h/acme/new.git", "h/acme/very-old", "", ""},
	} {
		if got := describeMoved(tc.known, tc.to); got.CloneURL != tc.to || got.Name != tc.name || got.DisplayName != tc.display || got.WebURL != tc.web {
			t.Errorf("%s: %+v, want the name %s, the display name %q and the page %q", tc.what, got, tc.name, tc.display, tc.web)
		}
	}
}
