package api

import (
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// TestPublicHosts registers repositories of well-known hosts by their clone URLs: their
// kind and pages follow.
func TestPublicHosts(t *testing.T) {
	for _, tc := range []struct {
		cloneURL string
		kind     code.HostKind
		webURL   string
	}{
		{"https://github.com/a/b.git", code.GitHub, "https://github.com/a/b"},
		{"git@github.com:a/b.git", code.GitHub, "https://github.com/a/b"},
		{"https://gitlab.com/a/group/b.git", code.GitLab, "https://gitlab.com/a/group/b"},
		{"ssh://git@gitlab.com/a/b.git", code.GitLab, "https://gitlab.com/a/b"},
		{"https://gitea.com/a/b", code.Gitea, "https://gitea.com/a/b"},
		{"https://codeberg.org/a/b.git", code.Gitea, "https://codeberg.org/a/b"},
		{"https://bitbucket.org/a/b.git", code.BitbucketCloud, "https://bitbucket.org/a/b"},
		{"https://git.example.com/a/b.git", code.GenericGitHost, ""},
	} {
		r, err := newRepository(&wire.RegisterRequest{CloneURL: tc.cloneURL})
		if err != nil || r.Kind != tc.kind || r.WebURL != tc.webURL {
			t.Errorf("%s: kind %q and page %q, want %q and %q: %v", tc.cloneURL, r.Kind, r.WebURL, tc.kind, tc.webURL, err)
		}
	}
	r, err := newRepository(&wire.RegisterRequest{CloneURL: "https://gitlab.com/a/b.git", WebURL: "https://code.example.com/b", CodeHostType: wire.CodeHostTypeGenericGitHost})
	if err != nil || r.Kind != code.GenericGitHost || r.WebURL != "https://code.example.com/b" {
		t.Errorf("kind %q and page %q replace those of the request: %v", r.Kind, r.WebURL, err)
	}
}
