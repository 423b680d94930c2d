package generic

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hosttest"
	"github.com/quarrysearch/quarry/schemas/code"
)

func TestTargets(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"a/bare.git/objects", "a/work/.git/objects", "a/plain/objects", "b/other.git/objects"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, head := range []string{"a/bare.git/HEAD", "a/work/.git/HEAD", "b/other.git/HEAD"} {
		if err := os.WriteFile(filepath.Join(root, head), []byte("ref: refs/heads/main\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		repos  []string
		want   []string // clone URLs
		issues []string // code target
	}{
		{"URLs", []string{"https://git.example.org/team/tool.git", "ssh://git@git.example.org/x"}, []string{"https://git.example.org/team/tool.git", "ssh://git@git.example.org/x"}, nil},
		{"a URL twice", []string{"https://h/t.git", "ssh://git@h/t"}, []string{"https://h/t.git"}, nil},
		{"a glob", []string{"file://" + root + "/a/*"}, []string{root + "/a/bare.git", root + "/a/work"}, nil},
		{"a path", []string{root + "/b/other.git"}, []string{root + "/b/other.git"}, nil},
		{"a directory that is gone", []string{"file:///nowhere/*", root + "/b/*"}, []string{root + "/b/other.git"}, []string{"not_found file:///nowhere/*"}},
		{"a password", []string{"https://u:hunter2@h/t.git"}, nil, []string{"invalid_target https://***@h/t.git"}},
		{"a program", []string{"ext::sh -c id"}, nil, []string{"invalid_target ext::sh -c id"}},
		{"a bad glob", []string{"file:///a/["}, nil, []string{"invalid_target file:///a/["}},
	} {
		got := hosttest.ListAll(t, Open, discovery.Connection{Name: "c", Kind: code.GenericGitHost, Targets: discovery.Targets{Repos: c.repos}}, http.DefaultClient)
		var urls, issues []string
		for _, f := range got.Found {
			urls = append(urls, f.CloneURL)
		}
		for _, i := range got.Issues {
			issues = append(issues, string(i.Code)+" "+i.Target)
		}
		if !slices.Equal(urls, c.want) || !slices.Equal(issues, c.issues) || got.Complete != (c.issues == nil) {
			t.Errorf("%s: found %q, issues %q, complete %v", c.name, urls, issues, got.Complete)
		}
	}
}
