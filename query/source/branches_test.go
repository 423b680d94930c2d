package source_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/source"
)

func TestBranches(t *testing.T) {
	b, _ := newBrowser(t, &fakeGit{}, nil)
	branches, err := b.Branches(t.Context(), kettle)
	if err != nil {
		t.Fatal(err)
	}
	var have strings.Builder
	for _, b := range branches {
		fmt.Fprintf(&have, "%s %.1s indexed=%v default=%v\n", b.Ref.Short(), b.Commit, b.Indexed, b.Default)
	}
	// The indexed commit of trunk counts, not the one in the mirror.
	want := "trunk 1 indexed=true default=true\nside 2 indexed=false default=false\nold 3 indexed=false default=false\n"
	if have.String() != want {
		t.Errorf("have\n%swant\n%s", have.String(), want)
	}
	b, _ = newBrowser(t, nil, nil)
	if branches, err = b.Branches(t.Context(), kettle); err != nil || len(branches) != 1 {
		t.Errorf("without a mirror: %v, %v; want the indexed one", branches, err)
	}
}

func TestTags(t *testing.T) {
	b, _ := newBrowser(t, nil, nil)
	tags, err := b.Tags(t.Context(), kettle)
	if err != nil || len(tags) != 2 || tags[0].Ref != "refs/tags/v2" || tags[1].Ref != "refs/tags/v1" || !tags[0].Indexed || tags[0].Default {
		t.Errorf("%+v, %v; want v2 before v1, indexed", tags, err)
	}
}

func TestSubtree(t *testing.T) {
	b, _ := newBrowser(t, &fakeGit{}, nil)
	for _, c := range []struct {
		path         string
		depth, limit int
		want         string
	}{
		{"", 1, 100, "dir/… a.txt"},
		{"", 2, 100, "dir/{b.txt} a.txt"},
		{"", 2, 1, "dir/… a.txt"},
		{"/dir/", 5, 100, "b.txt"},
	} {
		n, err := b.Subtree(t.Context(), kettle, "", c.path, c.depth, c.limit)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
		} else if have := drawTree(n); have != c.want {
			t.Errorf("%+v: have %q, want %q", c, have, c.want)
		}
	}
	if _, err := b.Subtree(t.Context(), kettle, "", "nowhere", 1, 10); !errors.Is(err, source.ErrNoPath) {
		t.Errorf("nowhere: %v, want %v", err, source.ErrNoPath)
	}
}

func drawTree(n *source.Node) string {
	var names []string
	for _, c := range n.Children {
		switch {
		case c.Kind != source.KindTree:
			names = append(names, c.Name)
		case c.Opened:
			names = append(names, c.Name+"/{"+drawTree(c)+"}")
		default:
			names = append(names, c.Name+"/…")
		}
	}
	return strings.Join(names, " ")
}

func TestParseMoment(t *testing.T) {
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"":                     "1970-01-01T00:00:00Z",
		"2026-01-31":           "2026-01-31T00:00:00Z",
		" 3 weeks ago":         "2026-03-10T12:00:00Z",
		"yesterday":            "2026-03-30T12:00:00Z",
		"2026-01-31T12:00:00Z": "2026-01-31T12:00:00Z",
	} {
		at, err := source.ParseMoment(text, now, false)
		if have := time.Unix(at, 0).UTC().Format(time.RFC3339); err != nil || have != want {
			t.Errorf("%q: %s, %v, want %s, nil", text, have, err, want)
		}
	}
	if at, _ := source.ParseMoment("2026-01-31", now, true); time.Unix(at, 0).UTC().Format(time.TimeOnly) != "23:59:59" {
		t.Errorf("the end of a day: %s", time.Unix(at, 0).UTC())
	}
	for _, text := range []string{"soon", "9000 years ago"} {
		if _, err := source.ParseMoment(text, now, false); !errors.Is(err, source.ErrMoment) {
			t.Errorf("%s: %v, want %v", text, err, source.ErrMoment)
		}
	}
}
