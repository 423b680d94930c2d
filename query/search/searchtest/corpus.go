package searchtest

import (
	"context"
	"crypto/sha1"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Repository is a repository of a corpus.
type Repository struct {
	*corpus.Repository
	// Refs are the refs besides the default branch.
	Refs []code.Ref
	// Files holds the texts by path.
	Files map[string]string
}

// Analyze returns the document of a file, whose key needs no blob, and the flags of its
// place.
type Analyze func(path string, text []byte) (d segment.Document, placed code.Flags)

// Corpus is an index of some files.
type Corpus struct {
	repositories []*corpus.Repository
	refs         []code.Ref
	reader       *segment.Reader
	onDefault    corpus.Segment
	files        []file
}

// file is a file of a repository.
type file struct {
	repository uint32
	path       string
	flags      code.Flags
	refs       []code.Ref // the default branch first
}

var _ corpus.View = (*Corpus)(nil)

// New indexes the files of repositories. It fails if two files have the same text in the
// same language, or if writing the segment fails.
func New(analyze Analyze, repositories ...Repository) (*Corpus, error) {
	c := new(Corpus)
	builder := segment.NewBuilder(segment.Options{Seed: []byte("searchtest")})
	for i, r := range repositories {
		c.repositories = append(c.repositories, r.Repository)
		for _, path := range slices.Sorted(maps.Keys(r.Files)) {
			d, flags := analyze(path, []byte(r.Files[path]))
			d.Key.Blob = sha1.Sum(d.Text)
			if err := builder.Add(d); err != nil {
				return nil, fmt.Errorf("index %s of %s: %w", path, r.Name, err)
			}
			c.files = append(c.files, file{uint32(i), path, flags, append([]code.Ref{r.DefaultRef()}, r.Refs...)})
		}
		c.refs = append(c.refs, r.DefaultRef())
		c.refs = append(c.refs, r.Refs...)
	}
	slices.Sort(c.refs)
	c.refs = slices.Compact(c.refs)
	if err := c.openSegment(builder); err != nil {
		return nil, err
	}
	places := segment.NewPlacesBuilder(len(c.files))
	for i, f := range c.files {
		places.Add(segment.DocID(i), f.repository, segment.NoRef, f.flags, f.path)
	}
	c.onDefault = corpus.Segment{Reader: c.reader, Places: places.Build()}
	return c, nil
}

// openSegment writes the segment to a file that is deleted when its last reader closes
// it.
func (c *Corpus) openSegment(builder *segment.Builder) error {
	dir, err := os.MkdirTemp("", "searchtest-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the open file remains readable
	path := filepath.Join(dir, "segment")
	if _, err := builder.Finish(path); err != nil {
		return err
	}
	f, err := segment.OpenFile(path, segment.NewCache(1<<20))
	if err != nil {
		return err
	}
	c.reader = f.Reader
	return nil
}

// Segments implements corpus.View.
func (c *Corpus) Segments() []corpus.Segment { return []corpus.Segment{c.onDefault} }

// Repositories implements corpus.View. They are in the order given to New.
func (c *Corpus) Repositories() []*corpus.Repository { return c.repositories }

// Release implements corpus.View. The corpus remains searchable.
func (c *Corpus) Release() {}

// Revisions implements corpus.View.
func (c *Corpus) Revisions(_ context.Context, match func(*corpus.Repository, code.Ref) bool) ([]corpus.Segment, []code.Ref, error) {
	places := segment.NewPlacesBuilder(len(c.files))
	for i, f := range c.files {
		for _, ref := range f.refs {
			if match(c.repositories[f.repository], ref) {
				n, _ := slices.BinarySearch(c.refs, ref)
				places.Add(segment.DocID(i), f.repository, uint32(n), f.flags, f.path)
			}
		}
	}
	return []corpus.Segment{{Reader: c.reader, Places: places.Build()}}, c.refs, nil
}
