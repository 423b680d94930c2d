package suite

import "strings"

// Form is the endpoint of Quarry that answers a query.
type Form int

const (
	// FormSearch is POST /api/search.
	FormSearch Form = iota
	// FormRepositories is GET /api/repos, for queries for repositories.
	FormRepositories
)

// Quarry returns the query in Quarry's language, for regular expression mode, ignoring
// case.
//
// The languages agree except for zoekt's type: filter. type:file PATTERN finds files by
// path, which is the file: filter alone. type:repo WORD finds repositories, which Quarry
// lists by name on a separate endpoint. zoekt also returns repositories that only contain
// the word, so the times are compared but the counts are not.
func (q Query) Quarry() (text string, form Form) {
	if rest, ok := strings.CutPrefix(q.Text, "type:file "); ok {
		return "file:" + rest, FormSearch
	}
	if rest, ok := strings.CutPrefix(q.Text, "type:repo "); ok {
		return rest, FormRepositories
	}
	return q.Text, FormSearch
}
