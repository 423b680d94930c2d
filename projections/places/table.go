package places

import (
	"bytes"
	"cmp"
	"slices"
	"sort"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/schemas/code"
)

// tableChange is an added or removed place, with its repository's number and its rank
// among the changes.
type tableChange struct {
	locatedChange
	number uint32
	rank   int
}

func (c *tableChange) comparePlace(d *tableChange) int {
	return cmp.Or(cmp.Compare(c.document, d.document), cmp.Compare(c.number, d.number), cmp.Compare(c.path, d.path))
}

// applyTableChanges returns the columns of default-branch places after the changes; of
// several changes to the same place, the last wins. It copies the rows between two
// changes as blocks, so the cost of a push is a memory copy of the segments that it
// touches, not work per row.
func applyTableChanges(old *segment.Places, documents int, changes []tableChange) *segment.Places {
	slices.SortFunc(changes, func(a, b tableChange) int { return cmp.Or(a.comparePlace(&b), cmp.Compare(a.rank, b.rank)) })
	if old == nil {
		old = &segment.Places{}
	}
	t := newTable(old, len(changes))
	row := 0
	for i := range changes {
		c := &changes[i]
		if i+1 < len(changes) && c.comparePlace(&changes[i+1]) == 0 {
			continue
		}
		at := row + sort.Search(old.Len()-row, func(n int) bool { return compareRow(old, row+n, c) >= 0 })
		t.copyRows(old, row, at)
		row = at
		if row < old.Len() && compareRow(old, row, c) == 0 {
			row++
		}
		if !c.removed {
			t.add(c)
		}
	}
	t.copyRows(old, row, old.Len())
	return t.finishTable(documents)
}

// table collects columns in order.
type table struct{ p segment.Places }

func newTable(old *segment.Places, more int) *table {
	n := old.Len() + more
	t := &table{}
	t.p.Doc = make([]segment.DocID, 0, n)
	t.p.Repo = make([]uint32, 0, n)
	t.p.Flags = make([]code.Flags, 0, n)
	t.p.PathEnd = make([]uint32, 0, n)
	t.p.Stem = make([]uint32, 0, n)
	t.p.Paths = make([]byte, 0, len(old.Paths)+64*more)
	return t
}

// copyRows appends the rows [from, to) of another table.
func (t *table) copyRows(old *segment.Places, from, to int) {
	if from == to {
		return
	}
	start := uint32(0)
	if from > 0 {
		start = old.PathEnd[from-1]
	}
	shift := uint32(len(t.p.Paths)) - start // modulo 2^32, because it may be negative
	t.p.Doc = append(t.p.Doc, old.Doc[from:to]...)
	t.p.Repo = append(t.p.Repo, old.Repo[from:to]...)
	t.p.Flags = append(t.p.Flags, old.Flags[from:to]...)
	t.p.Stem = append(t.p.Stem, old.Stem[from:to]...)
	t.p.Paths = append(t.p.Paths, old.Paths[start:old.PathEnd[to-1]]...)
	for _, end := range old.PathEnd[from:to] {
		t.p.PathEnd = append(t.p.PathEnd, end+shift)
	}
}

func (t *table) add(c *tableChange) {
	t.p.Doc = append(t.p.Doc, c.document)
	t.p.Repo = append(t.p.Repo, c.number)
	t.p.Flags = append(t.p.Flags, c.flags)
	t.p.Stem = append(t.p.Stem, segment.StemHash(c.path))
	at := len(t.p.Paths)
	t.p.Paths = append(t.p.Paths, c.path...)
	// Columns store a line feed in a path as a NUL byte, which no path contains.
	for i := at; i < len(t.p.Paths); i++ {
		if t.p.Paths[i] == '\n' {
			t.p.Paths[i] = 0
		}
	}
	t.p.Paths = append(t.p.Paths, '\n')
	t.p.PathEnd = append(t.p.PathEnd, uint32(len(t.p.Paths)))
}

// finishTable fills in the columns derived from the documents of the rows.
func (t *table) finishTable(documents int) *segment.Places {
	p := &t.p
	p.First = make([]uint32, documents+1)
	p.Live = make([]uint64, (documents+63)/64)
	next := 0
	for row, d := range p.Doc {
		for ; next <= int(d); next++ {
			p.First[next] = uint32(row)
		}
		p.Live[d/64] |= 1 << (d % 64)
	}
	for ; next <= documents; next++ {
		p.First[next] = uint32(len(p.Doc))
	}
	return p
}

// compareRow compares a row with a change, in the order of changes.
func compareRow(p *segment.Places, row int, c *tableChange) int {
	if d := cmp.Or(cmp.Compare(p.Doc[row], c.document), cmp.Compare(p.Repo[row], c.number)); d != 0 {
		return d
	}
	return cmp.Compare(pathOf(p, row), c.path)
}

// pathOf returns the path of a place as it is in the repository.
func pathOf(p *segment.Places, row int) string {
	path := p.Path(row)
	if bytes.IndexByte(path, 0) >= 0 {
		path = bytes.ReplaceAll(path, []byte{0}, []byte{'\n'})
	}
	return string(path)
}
