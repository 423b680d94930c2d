package match

import (
	"bytes"
	"regexp"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/query/plan"
)

// nameFilter returns a function that reports whether re matches the name of a repository. re is the
// expression of repo:, with (?i) if fold is set. It runs only on names that contain the text which
// each match contains: package regexp is slow if case is ignored, so that a query with several
// thousand repositories would spend most of its time there.
func nameFilter(re *regexp.Regexp, expression string, fold bool) func(name string) bool {
	p, err := plan.Regexp(expression, fold)
	if err != nil || re.MatchString("") {
		return re.MatchString // plan says nothing about empty matches
	}
	sets := make([][][]byte, len(p.Sets))
	for i, set := range p.Sets {
		for _, literal := range set {
			sets[i] = append(sets[i], []byte(literal))
		}
	}
	return func(name string) bool {
		var buffer [128]byte
		text := append(buffer[:0], name...)
		if p.Fold {
			text = postings.AppendFold(buffer[:0], []byte(name))
		}
		for _, set := range sets {
			found := false
			for i := 0; i < len(set) && !found; i++ {
				found = bytes.Contains(text, set[i])
			}
			if !found {
				return false
			}
		}
		return re.MatchString(name)
	}
}
