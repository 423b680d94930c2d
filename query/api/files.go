package api

import (
	"strconv"

	"github.com/quarrysearch/quarry/query/api/internal/jsonout"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/code"
)

// rangesAtOnce is how many ranges are written between checks of the buffer.
const rangesAtOnce = 64

// fileWriter writes the files of a response as JSON without encoding/json: a response has
// hundreds of ranges with six numbers each. The OpenAPI document describes the members.
type fileWriter struct {
	server *Server
	out    *jsonout.Writer
	links  fileLinks // of the repository and ref of the last file
	url    []byte    // buffer
}

// writeFiles writes an object with files, one at a time, followed by the members of
// another object.
func (s *Server) writeFiles(out *jsonout.Writer, files []search.FileMatch, others any) error {
	out.Raw(`{"files":`)
	if s.writeFileArray(out, files); out.Err() != nil {
		return out.Err()
	}
	err := out.Members(others)
	out.Raw("}")
	return err
}

// writeFileArray writes an array of files, and stops at the first error.
func (s *Server) writeFileArray(out *jsonout.Writer, files []search.FileMatch) {
	w := fileWriter{server: s, out: out}
	out.Raw("[")
	for i := range files {
		if i > 0 {
			out.Raw(",")
		}
		if w.writeFile(&files[i]); out.Err() != nil {
			return
		}
	}
	out.Raw("]")
}

func (w *fileWriter) writeFile(m *search.FileMatch) {
	out := w.out
	out.Raw(`{"fileName":{"text":`)
	out.String(m.Path)
	out.Raw(`,"matchRanges":`)
	w.writeRanges(m.PathRanges)
	out.Raw(`},`)
	w.writePages(m)
	out.Raw(`"repository":`)
	out.String(m.Repo.Name)
	out.Raw(`,"repositoryId":`)
	out.Uint(uint64(w.links.number))
	out.Raw(`,"language":`)
	out.String(string(m.Language))
	out.Raw(`,"chunks":[`)
	for i := range m.Chunks {
		if i > 0 {
			out.Raw(",")
		}
		w.writeChunk(&m.Chunks[i])
	}
	out.Raw(`],`)
	w.writeBestLines(m)
	out.Raw(`"branches":`)
	w.writeBranches(m)
	out.Raw(`,"content":`)
	out.Text(m.Content)
	out.Raw("}")
}

// writePages writes the addresses of the file's pages.
func (w *fileWriter) writePages(m *search.FileMatch) {
	ref := m.Ref
	if len(m.Refs) > 0 {
		ref = m.Refs[0]
	}
	if w.links.repo != m.Repo || w.links.ref != ref {
		w.links = w.server.linksOf(m.Repo, ref)
	}
	w.url = w.links.appendFile(w.url[:0], m.Path)
	w.out.Raw(`"webUrl":`)
	w.out.Text(w.url)
	w.out.Raw(",")
	if w.url = w.links.external.AppendURL(w.url[:0], m.Path); len(w.url) > 0 {
		w.out.Raw(`"externalWebUrl":`)
		w.out.Text(w.url)
		w.out.Raw(",")
	}
}

func (w *fileWriter) writeBestLines(m *search.FileMatch) {
	for i, n := range m.BestLines {
		if i == 0 {
			w.out.Raw(`"bestLines":[`)
		} else {
			w.out.Raw(",")
		}
		w.out.Uint(uint64(n))
	}
	if len(m.BestLines) > 0 {
		w.out.Raw("],")
	}
}

func (w *fileWriter) writeBranches(m *search.FileMatch) {
	refs := m.Refs
	if len(refs) == 0 && m.Ref != "" {
		refs = []code.Ref{m.Ref}
	}
	w.out.Raw("[")
	for i, ref := range refs {
		if i > 0 {
			w.out.Raw(",")
		}
		w.out.String(string(ref))
	}
	w.out.Raw("]")
}

func (w *fileWriter) writeChunk(c *search.Chunk) {
	w.out.Raw(`{"content":`)
	w.out.Text(c.Content)
	w.out.Raw(`,"matchRanges":`)
	w.writeRanges(c.Ranges)
	w.out.Append(func(b []byte) []byte {
		return append(appendLocation(append(b, `,"contentStart":`...), c.Start), `,"symbols":[`...)
	})
	for i, s := range c.Symbols {
		if i > 0 {
			w.out.Raw(",")
		}
		w.writeSymbol(s)
	}
	w.out.Raw("]}")
}

// writeSymbol writes the definition that contains a match. If a match has no containing
// definition, but another match of the file does, the fields are empty.
func (w *fileWriter) writeSymbol(s *code.Symbol) {
	if s == nil {
		w.out.Raw(`{"symbol":"","kind":""}`)
		return
	}
	w.out.Append(func(b []byte) []byte {
		b = jsonout.AppendString(append(b, `{"symbol":`...), s.Name)
		b = jsonout.AppendString(append(b, `,"kind":`...), string(s.Kind))
		if s.Parent != "" {
			b = jsonout.AppendString(append(b, `,"parent":{"symbol":`...), s.Parent)
			b = append(jsonout.AppendString(append(b, `,"kind":`...), string(s.ParentKind)), '}')
		}
		return append(b, '}')
	})
}

func (w *fileWriter) writeRanges(ranges []search.Range) {
	w.out.Raw("[")
	for at := 0; at < len(ranges); at += rangesAtOnce {
		if at > 0 {
			w.out.Raw(",")
		}
		w.out.Append(func(b []byte) []byte {
			return appendRanges(b, ranges[at:min(at+rangesAtOnce, len(ranges))])
		})
	}
	w.out.Raw("]")
}

func appendRanges(b []byte, ranges []search.Range) []byte {
	for i := range ranges {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendLocation(append(b, `{"start":`...), ranges[i].Start)
		b = appendLocation(append(b, `,"end":`...), ranges[i].End)
		b = append(b, '}')
	}
	return b
}

func appendLocation(b []byte, l search.Location) []byte {
	b = strconv.AppendInt(append(b, `{"byteOffset":`...), int64(l.ByteOffset), 10)
	b = strconv.AppendInt(append(b, `,"lineNumber":`...), int64(l.LineNumber), 10)
	b = strconv.AppendInt(append(b, `,"column":`...), int64(l.Column), 10)
	return append(b, '}')
}
