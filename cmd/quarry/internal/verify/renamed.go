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
	invalidPath bool // the manifest has it under a name that code.NamePath made
}

// renamedFiles are the files that a manifest has under another name than git
// (code.NamePath). They are compared at the end, since their names are not in the
// order of their paths.
type renamedFiles struct {
	files  map[string]treeFile     // of the tree, by name
	places map[string]places.Place // of the manifest, without a file of that path
	// found are paths that look like such a name and are git's own.
	found map[string]bool
}

func newRenamedFiles() renamedFiles {
	return renamedFiles{map[string]treeFile{}, map[string]places.Place{}, map[string]bool{}}
}

// mayBeRenamed reports whether code.NamePath may have made a path.
func mayBeRenamed(path string) bool {
	return strings.Contains(path, `\x`) || strings.Contains(path, "…")
}

// addFile keeps a file of the tree. Of two with one name the manifest has the first.
func (r *renamedFiles) addFile(name string, file treeFile) {
	if _, ok := r.files[name]; !ok {
		r.files[name] = file
	}
}

// notePath keeps a path of the manifest that is one of the tree.
func (r *renamedFiles) notePath(path string) {
	if mayBeRenamed(path) {
		r.found[path] = true
	}
}

// compareRenamed checks the files with another name against their places.
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
