package server

import (
	"testing"

	"github.com/quarrysearch/quarry/cmd/internal/config"
)

func TestSearchContexts(t *testing.T) {
	t.Parallel()
	contexts := searchContexts([]config.Context{
		{Name: "backend", Include: []string{"github.com/acme/*", "go"}, Exclude: []string{"**/*-ui"}},
		{Name: "all", Include: []string{"**"}},
	})
	for _, c := range []struct {
		context, repository string
		want                bool
	}{
		{"backend", "github.com/acme/api", true}, {"backend", "go", true}, {"backend", "github.com/acme/web-ui", false},
		{"backend", "github.com/acme/a/b", false}, {"backend", "golang", false}, {"all", "github.com/acme/web-ui", true},
	} {
		if got := contexts[c.context](c.repository); got != c.want {
			t.Errorf("%s holds %s: %v, want %v", c.context, c.repository, got, c.want)
		}
	}
}
