package verify

import (
	"maps"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/projections/places"
)

// treeFile is a file of a tree.
type treeFile struct {
	mirror.Entry
	invalidPath bool // the manifest has it under a name from code.NamePath
}

// renamedFiles holds the files that a manifest has under another name than git
// (code.NamePath). They are compared at the end, because their names are not in the order
// of their paths.
type renamedFiles struct {
	files  map[string]treeFile     // files of the tree, by name
	places map[string]places.Place // places of the manifest whose path is not in the tree
	// found holds paths that look like such a name but exist in git.
	found map[string]bool
}

func newRenamedFiles() renamedFiles {
	return renamedFiles{map[string]treeFile{}, map[string]places.Place{}, map[string]bool{}}
}

// mayBeRenamed reports whether a path may come from code.NamePath.
func mayBeRenamed(path string) bool {
	return strings.Contains(path, `\x`) || strings.Contains(path, "…")
}

// addFile records a file of the tree. If two files have the same name, the manifest has
// the first.
func (r *renamedFiles) addFile(name string, file treeFile) {
	if _, ok := r.files[name]; !ok {
		r.files[name] = file
	}
}

// compareRenamed compares the renamed files with their places.
func (t *treeRun) compareRenamed() {
	for _, name := range slices.Sorted(maps.Keys(t.renamed.files)) {
		place, ok := t.renamed.places[name]
		switch {
		case ok:
			t.compareFile(&place, t.renamed.files[name])
			delete(t.renamed.places, name)
		case !t.renamed.found[name]:
			t.noteDifference(kindMissing, name, "", "")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.renamed.places)) {
		t.noteDifference(kindSurplus, name, "", "")
	}
}
