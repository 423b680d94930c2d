package api

import (
	"encoding/json"
	"io"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/code"
)

// searchResponse is the answer of POST /api/search. files are converted and
// written one by one: the answer may be a hundred times a chunk's size.
type searchResponse struct {
	server *Server
	files  []search.FileMatch

	Stats          searchStats      `json:"stats"`
	RepositoryInfo []repositoryInfo `json:"repositoryInfo"`
	Exhaustive     bool             `json:"isSearchExhaustive"`
	// Additions.
	IncompleteReason string          `json:"incompleteReason,omitempty"`
	Notices          []notice        `json:"notices,omitempty"`
	Explain          *search.Explain `json:"explain,omitempty"`
}

type searchFile struct {
	FileName       fileName `json:"fileName"`
	WebURL         string   `json:"webUrl"`
	ExternalWebURL string   `json:"externalWebUrl,omitempty"`
	Repository     string   `json:"repository"`
	RepositoryID   uint64   `json:"repositoryId"`
	Language       string   `json:"language"`
	Chunks         []chunk  `json:"chunks"`
	Branches       []string `json:"branches"`
	Content        string   `json:"content"`
}

type fileName struct {
	Text        string      `json:"text"`
	MatchRanges []textRange `json:"matchRanges"`
}

type chunk struct {
	Content      string      `json:"content"`
	MatchRanges  []textRange `json:"matchRanges"`
	ContentStart location    `json:"contentStart"`
	Symbols      []symbol    `json:"symbols"`
}

type textRange struct {
	Start location `json:"start"`
	End   location `json:"end"`
}

type location struct {
	ByteOffset int `json:"byteOffset"`
	LineNumber int `json:"lineNumber"`
	Column     int `json:"column"`
}

// symbol is the definition that a match lies on; its words are empty for a match
// that lies on none, beside one that does.
type symbol struct {
	Symbol string        `json:"symbol"`
	Kind   string        `json:"kind"`
	Parent *symbolParent `json:"parent,omitempty"`
}

type symbolParent struct {
	Symbol string `json:"symbol"`
	Kind   string `json:"kind"`
}

// repositoryInfo is a repository that the answer mentions. WebURL is its page on
// the code host.
type repositoryInfo struct {
	ID            uint64        `json:"id"`
	Kind          code.HostKind `json:"codeHostType"`
	Name          string        `json:"name"`
	DisplayName   string        `json:"displayName,omitempty"`
	WebURL        string        `json:"webUrl,omitempty"`
	IndexedCommit string        `json:"indexedCommitHash,omitempty"`
}

// notice tells how a part of the query was read; start and end are byte offsets.
type notice struct {
	Message string `json:"message"`
	Start   int    `json:"start"`
	End     int    `json:"end"`
}

func (s *Server) newSearchResponse(in *parsedSearch, r *search.Result) *searchResponse {
	out := &searchResponse{
		server: s, files: r.Files, IncompleteReason: incompleteReason(in, r), Explain: r.Explain,
	}
	out.Exhaustive = out.IncompleteReason == ""
	// A query of type:repo or select:repo has no files: repositoryInfo is its answer.
	var repositories repositories
	for _, repository := range r.Repositories {
		repositories.add(repository)
	}
	for i := range r.Files {
		repositories.add(r.Files[i].Repo)
	}
	out.RepositoryInfo = repositories.infos()
	out.Stats = newSearchStats(r)
	for _, n := range in.Query.Notices {
		out.Notices = append(out.Notices, notice{n.Message, n.At.Start, n.At.End})
	}
	return out
}

// incompleteReason says why the answer does not hold every match there is; empty
// if it does. With "display limit" totalMatchCount is exact nevertheless.
func incompleteReason(in *parsedSearch, r *search.Result) string {
	switch {
	case r.Exhaustive && r.Stats.Displayed >= r.Stats.Matches:
		return ""
	case r.Stopped == search.StopByteLimit:
		return string(r.Stopped)
	case r.Exhaustive:
		return "display limit"
	case in.capped && r.Stats.Matches >= in.Matches:
		return "server match limit"
	case r.Stopped != "":
		return string(r.Stopped)
	}
	return "not all was searched"
}

// repositories collects those of an answer, in order and once each.
type repositories struct {
	seen map[code.RepositoryID]bool
	list []repositoryInfo
}

func (l *repositories) add(r *search.Repository) {
	if l.seen == nil {
		l.seen = make(map[code.RepositoryID]bool)
	}
	if l.seen[r.ID] {
		return
	}
	l.seen[r.ID] = true
	l.list = append(l.list, repositoryInfo{
		ID: uint64(r.ID), Kind: r.Kind, Name: r.Name, DisplayName: displayName(&r.Repository),
		WebURL: externalURL(&r.Repository), IndexedCommit: string(r.IndexedCommit),
	})
}

// infos is never nil: it is an array in JSON.
func (l *repositories) infos() []repositoryInfo {
	if l.list == nil {
		return []repositoryInfo{}
	}
	return l.list
}

func displayName(r *code.Repository) string {
	if r.DisplayName != "" {
		return r.DisplayName
	}
	return r.Name
}

// writeJSON implements streamer.
func (p *searchResponse) writeJSON(w io.Writer) error { return p.server.writeFiles(w, p.files, p) }

// writeFiles writes an object with files, one by one, and the members of another
// object, which has at least one.
func (s *Server) writeFiles(w io.Writer, files []search.FileMatch, others any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if _, err := io.WriteString(w, `{"files":[`); err != nil {
		return err
	}
	for i := range files {
		if i > 0 {
			if _, err := io.WriteString(w, ","); err != nil {
				return err
			}
		}
		if err := e.Encode(s.searchFile(&files[i])); err != nil {
			return err
		}
	}
	rest, err := encode(others)
	if err != nil {
		return err
	}
	// The rest is an object with members: its brace becomes the comma.
	rest[0] = ','
	_, err = w.Write(append([]byte("]"), rest...))
	return err
}

func (s *Server) searchFile(m *search.FileMatch) *searchFile {
	ref := m.Ref
	if len(m.Refs) > 0 {
		ref = m.Refs[0]
	}
	out := &searchFile{
		FileName:       fileName{m.Path, textRanges(m.PathRanges)},
		WebURL:         s.fileURL(m.Repo.Name, ref, m.Path),
		ExternalWebURL: externalFileURL(&m.Repo.Repository, ref, m.Path),
		Repository:     m.Repo.Name,
		RepositoryID:   uint64(m.Repo.ID),
		Language:       string(m.Language),
		Chunks:         make([]chunk, len(m.Chunks)),
		Branches:       branches(m),
		Content:        string(m.Content),
	}
	for i := range m.Chunks {
		out.Chunks[i] = newChunk(&m.Chunks[i])
	}
	return out
}

func branches(m *search.FileMatch) []string {
	out := make([]string, 0, max(1, len(m.Refs)))
	for _, ref := range m.Refs {
		out = append(out, string(ref))
	}
	if len(out) == 0 && m.Ref != "" {
		out = append(out, string(m.Ref))
	}
	return out
}

func newChunk(c *search.Chunk) chunk {
	out := chunk{Content: string(c.Content), MatchRanges: textRanges(c.Ranges), ContentStart: location(c.Start), Symbols: make([]symbol, len(c.Symbols))}
	for i, s := range c.Symbols {
		if s != nil {
			out.Symbols[i] = newSymbol(s)
		}
	}
	return out
}

func newSymbol(s *code.Symbol) symbol {
	out := symbol{Symbol: s.Name, Kind: string(s.Kind)}
	if s.Parent != "" {
		out.Parent = &symbolParent{s.Parent, string(s.ParentKind)}
	}
	return out
}

func textRanges(in []search.Range) []textRange {
	out := make([]textRange, len(in))
	for i, r := range in {
		out[i] = textRange{location(r.Start), location(r.End)}
	}
	return out
}
