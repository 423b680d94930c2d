package assist

import (
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/search/searchtest"
)

// TestHurriedReadings checks that an empty answer says that it is not complete if there was
// no time to try the other readings of the query.
func TestHurriedReadings(t *testing.T) {
	m := &searchtest.Model{}
	m.AddFiles(t, "a/db refs/heads/main limiter.go Go func hit() { log(7) }\na/db refs/heads/main RateLimiter.go Go func hit() {}")
	s := newSearcher(search.Options{})
	for _, c := range []struct {
		query  string
		notice string // when there is no time
	}{
		{"RateLimiter::hit", "no time to look for the definitions of this qualified name"},
		{"/h[i]t/", ""},
		{"func NEAR/5 log", ""},
		{"func hit() { log(8) }", ""},
		{"hjt", "no time to look for names near"},
	} {
		for _, isHurried := range []bool{false, true} {
			a := s.newAnswerer(m)
			if isHurried {
				a.duration = 1
			}
			r, err := a.answer(t.Context(), search.Request{Query: searchtest.Parse(t, c.query), Matches: 10}, nil)
			if err != nil {
				t.Fatal(err)
			}
			cut := r.Stopped == search.StopTimeLimit && !r.Exhaustive
			noticed := c.notice != "" && len(r.Notices) > 0 && strings.Contains(r.Notices[0].Message, c.notice)
			if says := cut || noticed; says != isHurried {
				t.Errorf("%s, hurried %v: stopped %q, exhaustive %v, notices %v", c.query, isHurried, r.Stopped, r.Exhaustive, r.Notices)
			}
			r.Release()
		}
	}
}
