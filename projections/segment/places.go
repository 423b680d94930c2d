package segment

import (
	"fmt"
	"sync/atomic"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Places lists the places of the documents of one segment: columns of equal length,
// ordered by (document, repository, ref, path). It is immutable once published.
type Places struct {
	Doc []DocID
	// Repo is an index into the view's repositories.
	Repo []uint32
	// Ref is an index into the view's refs; nil if every place is on its
	// repository's default branch.
	Ref   []uint32
	Flags []code.Flags
	// PathEnd and Paths contain the paths: path i is Paths[PathEnd[i-1]:PathEnd[i]-1].
	// Each is followed by a line feed, so that Paths can be searched as text. A line feed
	// within a path is stored as a NUL byte, which no path contains.
	PathEnd []uint32
	Paths   []byte
	// Stem contains the StemHash of each path.
	Stem []uint32
	// First[d] up to First[d+1] is the range of places of document d.
	First []uint32
	// Live has bit d set if document d has a place.
	Live []uint64

	names, paths atomic.Pointer[runFilter] // of MayName and MayPath
	repoEnds     atomic.Pointer[[]uint32]  // of RepoEnds
}

// Len returns the number of places.
func (p *Places) Len() int { return len(p.Doc) }

// Path returns the path of place i, as bytes of Paths.
func (p *Places) Path(i int) []byte {
	lines := p.PathLines(i, i+1)
	return lines[:len(lines)-1]
}

// PathLines returns the paths of the places from up to to, each followed by a line feed,
// as bytes of Paths.
func (p *Places) PathLines(from, to int) []byte {
	if from == to {
		return nil
	}
	start := uint32(0)
	if from > 0 {
		start = p.PathEnd[from-1]
	}
	return p.Paths[start:p.PathEnd[to-1]]
}

// repoRunShare is the least average length of the runs of places of one repository that are
// kept.
const repoRunShare = 16

// RepoEnds returns the end of each run of successive places of one repository, or nil if the runs
// are short. The first call reads all places.
func (p *Places) RepoEnds() []uint32 {
	if ends := p.repoEnds.Load(); ends != nil {
		return *ends
	}
	var ends []uint32
	for i := range p.Repo {
		if i+1 < len(p.Repo) && p.Repo[i+1] == p.Repo[i] {
			continue
		}
		if ends = append(ends, uint32(i+1)); len(ends) > len(p.Repo)/repoRunShare+1 {
			ends = nil
			break
		}
	}
	p.repoEnds.Store(&ends) // or use those that another goroutine has just found
	return ends
}

// SizeBytes returns the memory that the columns use.
func (p *Places) SizeBytes() int {
	return 4*(len(p.Doc)+len(p.Repo)+len(p.Ref)+len(p.PathEnd)+len(p.Stem)+len(p.First)) + len(p.Flags) + len(p.Paths) + 8*len(p.Live) + 2*runFilterBytes(len(p.Paths)) +
		4*len(p.Repo)/repoRunShare
}

// PlacesBuilder collects places in order.
type PlacesBuilder struct {
	p         Places
	documents int
}

// NewPlacesBuilder returns a builder for a segment of the given number of
// documents, with room for that many places.
func NewPlacesBuilder(documents int) *PlacesBuilder {
	return &PlacesBuilder{documents: documents, p: Places{
		Doc:     make([]DocID, 0, documents),
		Repo:    make([]uint32, 0, documents),
		Flags:   make([]code.Flags, 0, documents),
		PathEnd: make([]uint32, 0, documents),
		Stem:    make([]uint32, 0, documents),
		First:   make([]uint32, 0, documents+1),
		Live:    make([]uint64, (documents+63)/64),
	}}
}

// NoRef, as the ref of every place, omits the column.
const NoRef = ^uint32(0)

// Add adds a place. Documents must be in ascending order; otherwise it panics, because
// the order is an invariant of the caller's own rows.
func (b *PlacesBuilder) Add(d DocID, repo, ref uint32, flags code.Flags, path string) {
	p := &b.p
	if n := len(p.Doc); int(d) >= b.documents || n > 0 && d < p.Doc[n-1] {
		panic(fmt.Sprintf("segment: place of document %d of %d out of order", d, b.documents))
	}
	for len(p.First) <= int(d) {
		p.First = append(p.First, uint32(len(p.Doc)))
	}
	p.Doc = append(p.Doc, d)
	p.Repo = append(p.Repo, repo)
	if ref != NoRef {
		p.Ref = append(p.Ref, ref)
	}
	p.Flags = append(p.Flags, flags)
	p.Stem = append(p.Stem, StemHash(path))
	p.appendPath(path)
	p.Live[d/64] |= 1 << (d % 64)
}

func (p *Places) appendPath(path string) {
	at := len(p.Paths)
	p.Paths = append(append(p.Paths, path...), '\n')
	for i := at; i < len(p.Paths)-1; i++ {
		if p.Paths[i] == '\n' {
			p.Paths[i] = 0
		}
	}
	p.PathEnd = append(p.PathEnd, uint32(len(p.Paths)))
}

// Build returns the places. The builder must not be used afterwards.
func (b *PlacesBuilder) Build() *Places {
	for len(b.p.First) <= b.documents {
		b.p.First = append(b.p.First, uint32(len(b.p.Doc)))
	}
	p := &b.p
	p.Doc, p.Repo, p.Ref, p.Flags = trim(p.Doc), trim(p.Repo), trim(p.Ref), trim(p.Flags)
	p.PathEnd, p.Paths, p.Stem = trim(p.PathEnd), trim(p.Paths), trim(p.Stem)
	return p
}

// trim returns s without the room that appending left behind it, if that is more than a sixteenth.
func trim[T any](s []T) []T {
	if cap(s)-len(s) <= len(s)/16 {
		return s
	}
	return append(make([]T, 0, len(s)), s...)
}
