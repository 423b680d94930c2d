package assist

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/search"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newEngine returns an engine whose answers do not depend on the speed of the machine: its
// limits on time, which are shares of MaxDuration, are minutes.
func newEngine(o search.Options) *search.Searcher {
	o.MaxDuration = cmp.Or(o.MaxDuration, 10*time.Hour)
	o.MaxWait = cmp.Or(o.MaxWait, time.Hour)
	return search.New(o)
}

func newSearcher(o search.Options) *Searcher { return New(newEngine(o), o.Registerer) }

// collectParts streams a request and returns the combined parts and their number.
func collectParts(t *testing.T, s *Searcher, v corpus.View, r search.Request) (*search.Result, int) {
	t.Helper()
	var files []search.FileMatch
	parts := 0
	result, err := s.Stream(t.Context(), v, r, func(part []search.FileMatch, _ search.Stats) error {
		if len(part) == 0 || !slices.IsSortedFunc(part, func(a, b search.FileMatch) int { return int(b.Score - a.Score) }) {
			t.Errorf("part %d has %d files, or they are not in order", parts, len(part))
		}
		files = append(files, part...)
		parts++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	result.Files = files
	return result, parts
}

// namesInOrder returns the files of an answer, sorted.
func namesInOrder(r *search.Result) (names []string) {
	for i := range r.Files {
		f := &r.Files[i]
		names = append(names, f.Repo.Name+" "+f.Path+" "+string(f.Ref))
	}
	slices.Sort(names)
	return names
}
