package versions

import (
	"errors"
	"testing"
)

// list is an iterator over rows of the form "key=value".
type list struct {
	rows [][2]string
	at   int
}

func (l *list) First() bool   { l.at = 0; return len(l.rows) > 0 }
func (l *list) Next() bool    { l.at++; return l.at < len(l.rows) }
func (l *list) Key() []byte   { return []byte(l.rows[l.at][0]) }
func (l *list) Value() []byte { return []byte(l.rows[l.at][1]) }
func (l *list) Err() error    { return nil }

func TestCompareRows(t *testing.T) {
	for _, c := range []struct {
		name       string
		live, made [][2]string
		rows       int
		equal      bool
	}{
		{"empty", nil, nil, 0, true},
		{"equal", [][2]string{{"c1", "a"}, {"p1", "b"}}, [][2]string{{"c1", "a"}, {"p1", "b"}}, 2, true},
		{"local rows do not count", [][2]string{{"c1", "a"}, {"l1", "b"}, {"p1", "c"}}, [][2]string{{"c1", "a"}, {"p1", "c"}}, 2, true},
		{"another value", [][2]string{{"c1", "a"}}, [][2]string{{"c1", "b"}}, 0, false},
		{"another key", [][2]string{{"c1", "a"}}, [][2]string{{"c2", "a"}}, 0, false},
		{"one more", [][2]string{{"c1", "a"}, {"c2", "a"}}, [][2]string{{"c1", "a"}}, 1, false},
		{"one less", [][2]string{{"c1", "a"}}, [][2]string{{"c1", "a"}, {"c2", "a"}}, 1, false},
	} {
		rows, err := compareRows(&list{rows: c.live}, &list{rows: c.made})
		if rows != c.rows || (err == nil) != c.equal || (err != nil && !errors.Is(err, ErrDifferent)) {
			t.Errorf("%s: %d, %v", c.name, rows, err)
		}
	}
}
