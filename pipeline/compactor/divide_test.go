package compactor

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// TestDividesByReaders merges public text, and then makes some of it private: the merged
// segment is divided, and the parts stay apart.
func TestDividesByReaders(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3)
	m, other := newMirror(s, 0), newMirror(s, 0)
	other.mu.dead = m.mu.dead
	hidden, dead := map[code.DocumentKey]bool{}, s.document()
	s.push(0, dead)
	for i := range 4 * FanIn {
		d := s.document()
		s.push(0, d)
		if hidden[d.Key] = i%3 == 0; !hidden[d.Key] {
			delete(hidden, d.Key)
		}
	}
	s.start(Options{Liveness: m})
	other.runUntil("everything is merged", func() bool { return other.indexed == 4*FanIn+1 && len(other.segments) == 1 })
	m.killDocuments(dead.Key)
	m.mu.Lock()
	for k := range hidden {
		m.mu.readers[k] = Reader{7, "7"}
	}
	m.mu.Unlock()
	s.push(0, s.document()) // the next merge, or look at the projection, sees the change
	other.runUntil("the segment is divided", func() bool { return len(other.origins) == 2 })
	if len(other.segments) != 3 {
		t.Errorf("%d segments, want two shares and the last push", len(other.segments))
	}
	for id, origins := range other.origins {
		if len(origins) != 1 {
			t.Errorf("a share has the origins %v", origins)
		}
		for _, k := range other.keys[id] {
			if hidden[k] != (origins[0] == 7) || k == dead.Key {
				t.Errorf("document %s is in the share of repository %d", k.Blob, origins[0])
			}
		}
	}
	want := maps.Clone(s.documents)
	delete(want, dead.Key)
	other.verify(want)
	if other.refused > 0 {
		t.Errorf("%d merges were refused", other.refused)
	}
}

func TestShareDocuments(t *testing.T) {
	var many []Reader
	for i := range event.MaxOutputs + 10 {
		many = append(many, Reader{code.RepositoryID(i + 1), fmt.Sprint(i + 1)})
	}
	var wide []Reader
	for i := range event.MaxOrigins + 5 {
		wide = append(wide, Reader{code.RepositoryID(i + 1), "public"})
	}
	wide = append(wide, Reader{3, "public"})
	for _, one := range []struct {
		name    string
		readers []Reader
		dead    []int
		want    string
	}{
		{"classes", []Reader{{2, "2"}, {5, "public"}, {2, "2"}, {4, "public"}, {5, "public"}}, nil, "2 of [2]: 2 documents; public of [4 5]: 3 documents"},
		{"dead documents", []Reader{{2, "2"}, {}, {2, "2"}}, []int{1, 2}, "2 of [2]: 1 documents"},
		{"a live document without reader", []Reader{{2, "2"}, {}}, nil, errNoReader.Error()},
		{"nothing alive", []Reader{{2, "2"}}, []int{0}, ""},
		{"many classes", many, nil, fmt.Sprintf("%d shares, the last of 11 documents", event.MaxOutputs)},
		{"many origins", wide, nil, "2 shares, the last of 6 documents"},
	} {
		live := make([]uint64, (len(one.readers)+63)/64)
		for d := range one.readers {
			if !slices.Contains(one.dead, d) {
				live[d/64] |= 1 << (d % 64)
			}
		}
		shares, err := shareDocuments(one.readers, live)
		if got := describeShares(shares, err); got != one.want {
			t.Errorf("%s: %s, want %s", one.name, got, one.want)
		}
	}
}

func describeShares(shares []*share, err error) (out string) {
	if err != nil {
		return err.Error()
	}
	for i, s := range shares {
		n := 0
		for d := range 64 * len(s.documents) {
			n += int(s.documents[d/64] >> (d % 64) & 1)
		}
		if len(shares) == event.MaxOutputs || len(s.origins) > 10 || i > 0 && len(shares[0].origins) > 10 {
			out = fmt.Sprintf("%d shares, the last of %d documents", len(shares), n)
			continue
		}
		if i > 0 {
			out += "; "
		}
		out += fmt.Sprintf("%s of %v: %d documents", s.class, s.origins, n)
	}
	return out
}
