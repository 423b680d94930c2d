package api

import (
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// newSearchFile returns a file in the format of fileWriter, for the few files of a
// response that are not among its matches.
func (s *Server) newSearchFile(m *search.FileMatch) wire.SearchFile {
	ref := m.Ref
	if len(m.Refs) > 0 {
		ref = m.Refs[0]
	}
	links := s.linksOf(m.Repo, ref)
	out := wire.SearchFile{
		FileName:       wire.FileName{Text: m.Path, MatchRanges: textRanges(m.PathRanges)},
		WebURL:         string(links.appendFile(nil, m.Path)),
		ExternalWebURL: string(links.external.AppendURL(nil, m.Path)),
		Repository:     m.Repo.Name,
		RepositoryID:   links.number,
		Language:       string(m.Language),
		Chunks:         make([]wire.Chunk, len(m.Chunks)),
		Branches:       branchNames(m),
		Content:        string(m.Content),
	}
	for i := range m.Chunks {
		out.Chunks[i] = newChunk(&m.Chunks[i])
	}
	for _, n := range m.BestLines {
		out.BestLines = append(out.BestLines, int(n))
	}
	return out
}

func branchNames(m *search.FileMatch) []string {
	out := make([]string, 0, max(1, len(m.Refs)))
	for _, ref := range m.Refs {
		out = append(out, string(ref))
	}
	if len(out) == 0 && m.Ref != "" {
		out = append(out, string(m.Ref))
	}
	return out
}

func newChunk(c *search.Chunk) wire.Chunk {
	out := wire.Chunk{Content: string(c.Content), MatchRanges: textRanges(c.Ranges), ContentStart: wire.Location(c.Start), Symbols: make([]wire.Symbol, len(c.Symbols))}
	for i, s := range c.Symbols {
		if s != nil {
			out.Symbols[i] = newSymbol(s)
		}
	}
	return out
}

func newSymbol(s *code.Symbol) wire.Symbol {
	out := wire.Symbol{Symbol: s.Name, Kind: string(s.Kind)}
	if s.Parent != "" {
		out.Parent = wire.SymbolParent{Symbol: s.Parent, Kind: string(s.ParentKind)}
	}
	return out
}

func textRanges(in []search.Range) []wire.Range {
	out := make([]wire.Range, len(in))
	for i, r := range in {
		out[i] = textRange(r)
	}
	return out
}

func textRange(r search.Range) wire.Range {
	return wire.Range{Start: wire.Location(r.Start), End: wire.Location(r.End)}
}
