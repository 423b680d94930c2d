package suite

import "strings"

// Form says which endpoint of Quarry answers a query.
type Form int

const (
	// FormSearch is POST /api/search.
	FormSearch Form = iota
	// FormRepositories is GET /api/repos, for queries that ask for repositories.
	FormRepositories
)

// Quarry returns the query in Quarry's language, to be run in regular expression mode, any case.
//
// The languages agree except for zoekt's type: filter. type:file PATTERN finds files by path, which is a file: filter alone; type:repo WORD finds
// repositories, which Quarry lists by name on a separate endpoint (zoekt also returns those that merely contain the word: the times are compared,
// the counts are not).
func (q Query) Quarry() (text string, form Form) {
	if rest, ok := strings.CutPrefix(q.Text, "type:file "); ok {
		return "file:" + rest, FormSearch
	}
	if rest, ok := strings.CutPrefix(q.Text, "type:repo "); ok {
		return rest, FormRepositories
	}
	return q.Text, FormSearch
}
