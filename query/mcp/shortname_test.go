package mcp

import (
	"context"
	"slices"
	"testing"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/schemas/code"
)

// visibleNames is an index of repositories with these names, which are all that its caller
// may read.
type visibleNames []string

func (visibleNames) View(context.Context) (corpus.View, error) { return nil, code.ErrNotFound }

func (v visibleNames) Repository(_ context.Context, name string) (*code.Repository, error) {
	if !slices.Contains(v, name) {
		return nil, code.ErrNotFound
	}
	return &code.Repository{Name: name}, nil
}

func (v visibleNames) Repositories(context.Context, string, string) ([]*corpus.Repository, error) {
	var all []*corpus.Repository
	for _, name := range v {
		all = append(all, &corpus.Repository{Repository: code.Repository{Name: name}})
	}
	return all, nil
}

// TestShortNames checks which names without their beginning are completed: those that are
// unique among the repositories that the caller may read.
func TestShortNames(t *testing.T) {
	all := visibleNames{"host/a/kettle", "host/b/kettle", "host/a/teapot", "lid"}
	for _, c := range []struct {
		index      visibleNames
		name, want string
	}{
		{all, "host/a/kettle", "host/a/kettle"}, {all, "a/kettle", "host/a/kettle"}, {all, "Teapot", "host/a/teapot"}, {all, "LID", "lid"},
		{all, "kettle", "kettle"}, {all, "pot", "pot"}, {all, "none", "none"}, {all, "", ""},
		{all[1:], "kettle", "host/b/kettle"}, // the other one is hidden from this caller
	} {
		call := &call{Server: &Server{o: Options{Index: c.index}}, args: arguments{"repo": c.name}}
		if err := call.completeRepository(t.Context()); err != nil || call.args.getText("repo") != c.want {
			t.Errorf("%q becomes %q, %v; want %q", c.name, call.args["repo"], err, c.want)
		}
	}
}
