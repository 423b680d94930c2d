package precise

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/projections/scip"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Bounds on the data read for an answer.
const (
	// maxDocumentUploads bounds the uploads whose document at a path is read.
	maxDocumentUploads = 8
	// maxSymbolUploads bounds the uploads in which a symbol is looked up, and maxVersions
	// the versions of the symbol in each.
	maxSymbolUploads = 200
	maxVersions      = 16
	// MaxFiles bounds the files of an answer, MaxImplementers the implementers of a
	// symbol.
	MaxFiles        = 500
	MaxImplementers = 200
)

// Text is the text of a file as the caller reads it.
type Text struct {
	Repository code.RepositoryID
	Path       string
	Text       []byte
}

// Occurrences returns the symbols that occur in a text, in text order. It uses the newest
// upload with exactly the same lines. If there is none, it uses the newest upload with
// the path, and returns the occurrences on unchanged lines. It returns nil if no upload
// has the path, and ignores uploads that cannot be read.
func (s *Store) Occurrences(ctx context.Context, t Text) []scip.Occurrence {
	lines := scip.HashLines(t.Text)
	var newest *scip.Contents
	for _, d := range s.findDocuments(ctx, t.Repository, t.Path) {
		c, err := d.reader.ReadContents(d.number)
		if err != nil {
			s.metrics.failures.Inc()
			s.o.Logger.WarnContext(ctx, "precise index cannot be read", "object", d.upload.Object, "error", err)
			continue
		}
		if slices.Equal(c.Lines, lines) {
			s.metrics.lookups.WithLabelValues(lookupExact).Inc()
			return c.Occurrences
		}
		if newest == nil {
			newest = c
		}
	}
	if newest == nil {
		s.metrics.lookups.WithLabelValues(lookupNone).Inc()
		return nil
	}
	s.metrics.lookups.WithLabelValues(lookupCarried).Inc()
	return carry(newest, lines)
}

// carry returns the occurrences on unchanged lines, moved to their lines in the later
// text.
func carry(c *scip.Contents, later []uint64) []scip.Occurrence {
	lines := scip.MapLines(c.Lines, later)
	out := make([]scip.Occurrence, 0, len(c.Occurrences))
	for _, o := range c.Occurrences {
		if o.End.Line >= len(lines) {
			continue
		}
		first := lines[o.Start.Line]
		if first < 0 || lines[o.End.Line] != first+o.End.Line-o.Start.Line {
			continue
		}
		o.Start.Line, o.End.Line = first, first+o.End.Line-o.Start.Line
		out = append(out, o)
	}
	return out
}

// document is a file in an upload.
type document struct {
	upload *event.ScipUploaded
	reader *scip.Reader
	number int
}

// findDocuments returns the uploads of a repository that have a path, newest first.
func (s *Store) findDocuments(ctx context.Context, id code.RepositoryID, path string) (out []document) {
	uploads := s.o.Uploads.Uploads(id)
	for i := range uploads {
		u := &uploads[i]
		if u.Path != "" && !strings.HasPrefix(path, u.Path+"/") {
			continue
		}
		r, err := s.open(ctx, u)
		if err != nil {
			continue // open counts the failure
		}
		if number, ok := r.FindDocument(path); ok {
			if out = append(out, document{u, r, number}); len(out) == maxDocumentUploads {
				break
			}
		}
	}
	return out
}

// Symbol is a symbol with the file in which it was found.
type Symbol struct {
	Repository code.RepositoryID
	Path       string
	Name       string
}

// File is a file of a repository.
type File struct {
	Repository code.RepositoryID
	Path       string
}

// Use selects the occurrences of a symbol.
type Use int

// The values of Use.
const (
	AnyUse Use = iota
	Definition
)

// Files returns the files in which one of the symbols occurs, according to the newest
// uploads of the repositories of the scope: the file of the position first, then by
// repository and path. A symbol that is local to its file occurs only there, and only its
// definer defines another one. complete reports whether these are all the files.
func (s *Store) Files(ctx context.Context, in *Scope, names []string, use Use) (files []File, complete bool) {
	found := map[File]bool{}
	complete = true
	home := File{in.Near.Repository, in.Near.Path}
	for _, name := range names {
		if scip.IsLocal(name) {
			found[home] = true
			continue
		}
		readers := s.readersOf(ctx, in, name, use)
		for _, r := range readers {
			symbols, err := r.FindSymbols(name, true, maxVersions)
			if err != nil {
				s.metrics.failures.Inc()
				complete = false
				continue
			}
			for i := range symbols {
				for _, d := range symbols[i].Documents {
					if use == AnyUse || d.Defined {
						found[File{r.Header().Repository, r.DocumentPath(d.Number)}] = true
					}
				}
			}
		}
	}
	files = make([]File, 0, len(found))
	for f := range found {
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b File) int {
		return cmp.Or(compareTrueFirst(a == home, b == home), compareTrueFirst(a.Repository == home.Repository, b.Repository == home.Repository),
			cmp.Compare(a.Repository, b.Repository), strings.Compare(a.Path, b.Path))
	})
	if len(files) > MaxFiles {
		files, complete = files[:MaxFiles], false
	}
	return files, complete && ctx.Err() == nil
}

// readersOf returns the readers that show where a symbol is used or defined.
func (s *Store) readersOf(ctx context.Context, in *Scope, name string, use Use) []*scip.Reader {
	if use == AnyUse {
		return s.newestReaders(ctx, in.Near.Repository, in.Among)
	}
	if definer := s.definer(ctx, in, name); definer != 0 {
		return s.newestReaders(ctx, definer, nil)
	}
	return nil
}

func compareTrueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// newestReaders returns a reader of the newest upload of each path and tool of the
// repositories, those of near first.
func (s *Store) newestReaders(ctx context.Context, near code.RepositoryID, among []code.RepositoryID) (out []*scip.Reader) {
	all := s.o.Uploads.AllUploads()
	for _, id := range append([]code.RepositoryID{near}, among...) {
		if id == near && len(out) > 0 {
			continue
		}
		type group struct{ path, tool string }
		seen := map[group]bool{}
		uploads := all[id]
		for i := range uploads {
			u := &uploads[i]
			if key := (group{u.Path, u.Tool}); !seen[key] && ctx.Err() == nil {
				seen[key] = true
				if r, err := s.open(ctx, u); err == nil {
					out = append(out, r)
				}
			}
			if len(out) == maxSymbolUploads {
				return out
			}
		}
	}
	return out
}

// Implementers returns the names of the symbols that implement the symbol of the scope,
// according to the newest uploads. Uploads of the repository of the position count for every
// symbol, those of another one only for the symbols that it defines.
func (s *Store) Implementers(ctx context.Context, in *Scope) []string {
	if scip.IsLocal(in.Near.Name) {
		return nil
	}
	var out []string
	for _, r := range s.newestReaders(ctx, in.Near.Repository, in.Among) {
		symbols, err := r.FindSymbols(in.Near.Name, true, maxVersions)
		if err != nil {
			s.metrics.failures.Inc()
			continue
		}
		for i := range symbols {
			found, err := r.Implementers(&symbols[i], MaxImplementers)
			if err != nil {
				s.metrics.failures.Inc()
				continue
			}
			for k := range found {
				name, from := found[k].Name, r.Header().Repository
				if !slices.Contains(out, name) && len(out) < MaxImplementers && (from == in.Near.Repository || s.IsDefiner(ctx, in, from, name)) {
					out = append(out, name)
				}
			}
		}
	}
	return out
}

// Describe returns the information about the symbol of the scope in the newest uploads of
// the repository of the position, or else in those of its definer; nil if there is none.
func (s *Store) Describe(ctx context.Context, in *Scope) *scip.Information {
	near := in.Near
	if scip.IsLocal(near.Name) {
		for _, d := range s.findDocuments(ctx, near.Repository, near.Path) {
			if i, err := d.reader.ReadLocalInformation(d.number, near.Name); err == nil && i != nil {
				return i
			}
		}
		return nil
	}
	if i := s.findInformation(near.Name, s.newestReaders(ctx, near.Repository, nil)); i != nil {
		return i
	}
	if definer := s.definer(ctx, in, near.Name); definer != 0 && definer != near.Repository {
		return s.findInformation(near.Name, s.newestReaders(ctx, definer, nil))
	}
	return nil
}

// findInformation returns the first information about a symbol: of its version, or else of
// any.
func (s *Store) findInformation(name string, readers []*scip.Reader) *scip.Information {
	for _, anyVersion := range []bool{false, true} {
		for _, r := range readers {
			symbols, err := r.FindSymbols(name, anyVersion, maxVersions)
			if err != nil {
				s.metrics.failures.Inc()
			}
			for i := range symbols {
				if found, err := r.ReadInformation(&symbols[i]); err == nil && found != nil {
					return found
				}
			}
		}
	}
	return nil
}

// FindOccurrence returns the shortest occurrence around a position. Its line counts from
// 0, its column in bytes.
func FindOccurrence(all []scip.Occurrence, at scip.Point) (best *scip.Occurrence) {
	for i := range all {
		o := &all[i]
		if o.Start.Compare(at) > 0 {
			break
		}
		if o.End.Compare(at) < 0 {
			continue
		}
		if best == nil || o.Start.Compare(best.Start) > 0 || o.End.Compare(best.End) < 0 {
			best = o
		}
	}
	return best
}

// Offset returns the byte offset of a position in a text, or -1 if it is outside.
func Offset(text []byte, p scip.Point) int {
	at := 0
	for range p.Line {
		i := bytes.IndexByte(text[at:], '\n')
		if i < 0 {
			return -1
		}
		at += i + 1
	}
	if at+p.Column > len(text) {
		return -1
	}
	return at + p.Column
}
