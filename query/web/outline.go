package web

import (
	"slices"
	"strconv"

	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/code"
)

// outlineRow is a definition in a file.
type outlineRow struct {
	Name, Kind, URL, Signature string
	UsesURL                    string // the page of its definitions and references
	Line, EndLine              int
	Depth                      int // number of enclosing definitions, 0 within a fold
	// Folded is, in the first of several definitions that are shown together on demand, their
	// number, and FoldDepth their depth. EndsFold is set in the last one.
	Folded, FoldDepth int
	EndsFold          bool
}

// plainKinds are the kinds of definitions that hold nothing to read but a name and a type. Long
// runs of them are folded: they would push the functions out of sight.
var plainKinds = []string{"member", "field", "enumerator", "property", "key", "attribute"}

// minFolded is the least number of plain definitions that are folded.
const minFolded = 8

// foldPlainRows folds runs of plain definitions with the same parent, but none without a parent.
func foldPlainRows(rows []outlineRow) {
	for from := 0; from < len(rows); {
		to := from
		for to < len(rows) && rows[to].Depth > 0 && rows[to].Depth == rows[from].Depth && slices.Contains(plainKinds, rows[to].Kind) {
			to++
		}
		if to-from >= minFolded {
			rows[from].Folded, rows[from].FoldDepth, rows[to-1].EndsFold = to-from, rows[from].Depth, true
			for i := range rows[from:to] {
				rows[from+i].Depth = 0
			}
		}
		from = max(to, from+1)
	}
}

// Bounds of an outline.
const (
	maxOutlineRows  = 2000
	maxOutlineDepth = 4
)

// addOutline lists the definitions of a file, in line order.
func (s *Server) addOutline(p *codePage, body *fileBody, file *source.File) {
	if s.o.Outline == nil {
		return
	}
	found, err := s.o.Outline.Describe(file.Language, file.Text)
	if err != nil {
		body.OutlineNote = s.texts.mustFormat("codeOutlineCut")
	}
	if len(found) > maxOutlineRows {
		found = found[:maxOutlineRows]
		body.OutlineNote = s.texts.mustFormat("codeOutlineFirst", "n", maxOutlineRows)
	}
	body.Outline = newOutlineRows(found, p.pageURL(source.PageBlob, p.Path))
	foldPlainRows(body.Outline)
	if s.o.API == nil {
		return
	}
	at := symbolRequest{Repository: p.repository.Name, Path: p.Path, Language: string(file.Language)}
	if p.Revision != "" {
		at.Revision = string(p.found.Ref)
	}
	for i := range body.Outline {
		at.Name, at.Line, at.Column = found[i].Name, int(found[i].Line), int(found[i].Column)
		body.Outline[i].UsesURL = at.URL()
	}
}

func newOutlineRows(found []code.Definition, address string) []outlineRow {
	rows := make([]outlineRow, 0, len(found))
	var around []int // last lines of the definitions that enclose the next one
	for _, d := range found {
		line, end := int(d.Line), max(int(d.EndLine), int(d.Line))
		for len(around) > 0 && around[len(around)-1] < line {
			around = around[:len(around)-1]
		}
		rows = append(rows, outlineRow{
			Name: d.Name, Kind: string(d.Kind), Signature: d.Signature, Line: line, EndLine: end,
			URL: address + "?L=" + strconv.Itoa(line), Depth: min(len(around), maxOutlineDepth),
		})
		if end > line {
			around = append(around, end)
		}
	}
	return rows
}
