package verify

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/cmd/harness/searchbench/internal/engine"
)

// maxListedMatches bounds the matches of one listed answer: each takes about 300 bytes of
// JSON, and its lines.
const maxListedMatches = 50_000

// part is a part of a query's answer: everything, the files of a repository, the files
// below one of its folders (which ends in a slash), or only the files directly in that
// folder.
type part struct {
	repository, folder string
	flat               bool
	matches            int // number of ripgrep's matches
}

// restrictQuery returns the query for this part. Filters ignore case by default.
func (p part) restrictQuery(text string) string {
	if p.repository == "" {
		return text
	}
	path := "^" + regexp.QuoteMeta(p.folder)
	if p.flat {
		path += "[^/]*$"
	}
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace
	return fmt.Sprintf(`(%s) (case:yes repo:"%s" file:"%s")`, text, quote("^"+regexp.QuoteMeta(p.repository)+"$"), quote(path))
}

func (p part) containsPlace(place engine.Place) bool {
	if p.repository == "" {
		return true
	}
	rest, ok := strings.CutPrefix(place.Path, p.folder)
	return ok && place.Repository == p.repository && (!p.flat || !strings.Contains(rest, "/"))
}

// splitPart returns the parts of p. They also cover matches that a server may find in
// addition to ripgrep's. If p cannot be split, it is returned unchanged.
func (c *Checker) splitPart(p part, repositories []string, want map[engine.Place]int) ([]part, error) {
	var parts []part
	switch {
	case p.repository == "":
		for _, name := range repositories {
			parts = append(parts, part{repository: name})
		}
	case p.flat:
		return []part{p}, nil
	default:
		entries, err := os.ReadDir(filepath.Join(c.Trees[p.repository], filepath.FromSlash(p.folder)))
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{repository: p.repository, folder: p.folder, flat: true})
		for _, e := range entries {
			if e.IsDir() {
				parts = append(parts, part{repository: p.repository, folder: p.folder + e.Name() + "/"})
			}
		}
	}
	for i := range parts {
		for place, n := range want {
			if parts[i].containsPlace(place) {
				parts[i].matches += n
			}
		}
	}
	return parts, nil
}

// listMatches requests the matches of every file from the server, in parts that the
// server can list.
func (c *Checker) listMatches(ctx context.Context, o *Outcome, text string, repositories []string, want map[engine.Place]int) (map[engine.Place]int, error) {
	whole := part{}
	for _, n := range want {
		whole.matches += n
	}
	got := make(map[engine.Place]int)
	for todo := []part{whole}; len(todo) > 0; {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		more, err := c.listPart(ctx, o, p, text, repositories, want, got)
		if err != nil {
			return nil, err
		}
		todo = append(todo, more...)
	}
	return got, nil
}

// listPart lists a part, or returns the parts into which it must be split.
func (c *Checker) listPart(ctx context.Context, o *Outcome, p part, text string, repositories []string, want, got map[engine.Place]int) ([]part, error) {
	if p.matches > maxListedMatches {
		parts, err := c.splitPart(p, repositories, want)
		if err != nil || !slices.Equal(parts, []part{p}) {
			return parts, err
		}
	}
	places, answer, err := c.Quarry.Places(ctx, p.restrictQuery(text))
	if err != nil {
		return nil, err
	}
	if answer.Incomplete != "" {
		parts, err := c.splitPart(p, repositories, want)
		if err == nil && slices.Equal(parts, []part{p}) {
			err = fmt.Errorf("%s %s: the answer is not the whole: %s", p.repository, p.folder, answer.Incomplete)
		}
		return parts, err
	}
	if listed := sumCounts(places); listed != answer.Matches || len(places) != answer.Files {
		o.addDifference(engine.Place{Repository: p.repository, Path: p.folder + " (statistics against list)"}, listed, answer.Matches)
	}
	for place, n := range places {
		if !p.containsPlace(place) {
			o.addDifference(engine.Place{Repository: place.Repository, Path: place.Path + " (not asked for)"}, 0, n)
		}
		got[place] += n
	}
	return nil, nil
}
