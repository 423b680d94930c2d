package answers

import (
	"hash/maphash"
	"regexp"
	"strings"
)

// vocabulary holds the words of the sources, in lower case, as hashes. A text that is one
// of these words is not used as a misspelled or restyled name, because it has its own
// answer.
type vocabulary struct {
	seed  maphash.Seed
	words map[uint64]struct{}
}

// token matches a word that may be a name, including hyphens as in the names of options.
var token = regexp.MustCompile(`[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*`)

// newVocabulary reads all code of the sources.
func newVocabulary(sources Sources) *vocabulary {
	v := &vocabulary{maphash.MakeSeed(), map[uint64]struct{}{}}
	for _, s := range sources {
		for _, file := range s.code {
			for _, line := range s.Lines(file) {
				for _, word := range token.FindAllString(line, -1) {
					v.add(word)
					if strings.Contains(word, "-") {
						for part := range strings.SplitSeq(word, "-") {
							v.add(part)
						}
					}
				}
			}
		}
	}
	return v
}

func (v *vocabulary) hash(word string) uint64 { return maphash.String(v.seed, strings.ToLower(word)) }

func (v *vocabulary) add(word string) { v.words[v.hash(word)] = struct{}{} }

// has reports whether a word occurs in the sources, ignoring case.
func (v *vocabulary) has(word string) bool {
	_, ok := v.words[v.hash(word)]
	return ok
}
