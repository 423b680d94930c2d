package navigate

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/query/navigate/internal/names"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Bounds of what is read to tell references from text. Matches of files beyond them are
// kept, without a role.
const (
	maxClassifyBytes = 32 << 20
	maxClassifyTime  = 2 * time.Second
)

// A classifier says what the occurrences of a name are.
type classifier struct {
	outline Outline
	request *Request
	at      *resolver // of the position; nil without one
	meant   *target   // what the name means there, if that is known
	// precise is what a precise index says about it; nil if it says nothing.
	precise   *meaning
	navigator *Navigator
}

// classifyAll gives the matches of a result their roles, and drops those that are in text.
func (c *classifier) classifyAll(ctx context.Context, found *search.Result, out *Result) {
	if c.at != nil {
		if meant := c.at.resolve(ctx, c.at.home, c.at.token); len(meant) > 0 {
			c.meant = &meant[0]
		}
	}
	deadline, bytes := time.Now().Add(maxClassifyTime), 0
	next := 0
	for i := range out.Files {
		f := &out.Files[i]
		for next < len(found.Files) && (found.Files[next].Repo != f.Repo || found.Files[next].Ref != f.Ref || found.Files[next].Path != f.Path) {
			next++
		}
		if next == len(found.Files) {
			break
		}
		text := found.Files[next].Content
		if bytes += len(text); bytes <= maxClassifyBytes && len(text) > 0 && time.Now().Before(deadline) && ctx.Err() == nil {
			c.classifyFile(f, text, out)
		}
		if c.at != nil {
			c.relateFile(f, text)
		}
		if c.precise != nil && len(text) > 0 && time.Now().Before(deadline) && ctx.Err() == nil {
			c.navigator.dropOthers(ctx, c.precise, f, &found.Files[next])
		}
	}
	out.Files = slices.DeleteFunc(out.Files, func(f File) bool { return len(f.Matches) == 0 })
	out.Matches = 0
	for i := range out.Files {
		out.Matches += len(out.Files[i].Matches)
	}
}

// classifyFile gives the matches of one file their roles.
func (c *classifier) classifyFile(f *File, text []byte, out *Result) {
	tokens, whole := c.outline.Tokens(f.Language, text, maxFileTokens)
	var definitions []code.Definition
	if c.request.IncludeEnclosing || slices.ContainsFunc(f.Matches, func(m Match) bool { return m.Symbol != nil }) {
		definitions, _ = c.outline.Describe(f.Language, text) // those that were found in time
	}
	kept := f.Matches[:0]
	k := 0
	for _, m := range f.Matches {
		start, end := uint32(m.Range.Start.ByteOffset), uint32(m.Range.End.ByteOffset)
		for k < len(tokens) && tokens[k].End <= start {
			k++
		}
		switch {
		case k == len(tokens) && !whole:
		case k == len(tokens) || tokens[k].Start >= end || tokens[k].Class == code.TokenComment || tokens[k].Class == code.TokenString:
			m.Role = RoleText
		case (tokens[k].Start < start || tokens[k].End > end) && tokens[k].Class == code.TokenIdentifier:
			if inIdentifier(text[tokens[k].Start:tokens[k].End], int(start)-int(tokens[k].Start), int(end)-int(tokens[k].Start)) {
				continue
			}
			m.Role = RoleReference
		default:
			m.Role = RoleReference
			i, ok := slices.BinarySearchFunc(definitions, start, func(d code.Definition, at uint32) int { return cmp.Compare(d.Offset, at) })
			if ok {
				m.Definition, m.Role = &definitions[i], roleOf(&definitions[i])
			} else if m.Symbol != nil {
				m.Role = RoleDefinition
			}
		}
		if m.Role == RoleText && !c.request.IncludeText {
			out.TextMatches++
			continue
		}
		kept = append(kept, m)
	}
	f.Matches = kept
	if c.request.IncludeEnclosing {
		addEnclosing(f, names.Read(f.Path, f.Language, text, tokens, definitions))
	}
}

// addEnclosing adds the function or type around each reference of a file.
func addEnclosing(f *File, file *names.File) {
	for k := range f.Matches {
		m := &f.Matches[k]
		i, ok := file.TokenAt(m.Range.Start.ByteOffset)
		if !ok || m.Role != RoleReference {
			continue
		}
		m.Enclosing = file.Enclosing(i, func(k code.SymbolKind) bool { return names.IsFunction(k) || names.IsType(k) })
	}
}

// relateFile says what the matches of a file have in common with the position.
func (c *classifier) relateFile(f *File, text []byte) {
	r := c.at
	for k := range f.Matches {
		f.Matches[k].Relation = r.relationOf(f, f.Matches[k].Range.Start.ByteOffset)
	}
	if len(f.Matches) == 0 {
		return
	}
	if f.Repo == r.home.repo && f.Path == r.home.path {
		c.relateLocal(f)
		return
	}
	meant := c.meant
	if meant == nil || meant.binding != nil {
		return
	}
	if f.Repo == meant.file.repo && f.Path == meant.file.path {
		for k := range f.Matches {
			m := &f.Matches[k]
			m.Relation = RelationFile
			if start, _ := meant.file.names.Range(meant.token); start == m.Range.Start.ByteOffset {
				m.Relation = RelationMeaning
			}
		}
		return
	}
	relation := f.Matches[0].Relation
	if relation == RelationPackage || !names.Described(f.Language) || len(text) > maxImportBytes {
		return
	}
	tokens, _ := c.outline.Tokens(f.Language, text, maxImportTokens)
	user := names.Read(f.Path, f.Language, text, tokens, nil)
	if siblings, ok := user.Siblings(); ok && f.Repo == meant.file.repo && siblings.Matches(f.Repo.Name, meant.file.path) {
		relation = RelationPackage
	} else if user.ImportsFile(meant.file.repo.Name, meant.file.path) {
		relation = RelationImport
	}
	for k := range f.Matches {
		f.Matches[k].Relation = relation
	}
}

// Bounds of what is read of a file for its imports, which stand at its beginning.
const (
	maxImportBytes  = 1 << 20
	maxImportTokens = 1 << 12
)

// relateLocal marks the matches in the file of the position that mean the same local name,
// or that are what is meant.
func (c *classifier) relateLocal(f *File) {
	if c.meant == nil || c.meant.file != c.at.home {
		return
	}
	home := c.at.home.names
	for k := range f.Matches {
		i, ok := home.TokenAt(f.Matches[k].Range.Start.ByteOffset)
		switch {
		case !ok:
		case i == c.meant.token:
			f.Matches[k].Relation = RelationMeaning
		case c.meant.binding != nil && home.Receiver(i) == nil:
			if b := home.Binding(home.Word(i), i); b != nil && b.At == c.meant.token {
				f.Matches[k].Relation = RelationMeaning
			}
		}
	}
}

// sortFiles puts the files first that are nearest to the position.
func (c *classifier) sortFiles(out *Result) {
	if c.at == nil {
		return
	}
	nearest := func(f *File) int {
		best := len(relations)
		for k := range f.Matches {
			best = min(best, slices.Index(relations, f.Matches[k].Relation))
		}
		return best
	}
	slices.SortStableFunc(out.Files, func(a, b File) int { return nearest(&a) - nearest(&b) })
}

// inIdentifier reports whether text[start:end] is only a part of an identifier, as foo is of
// foo-bar in Lisp. An identifier with a path in it, as that of a selector or a key, has
// several names.
func inIdentifier(text []byte, start, end int) bool {
	if start < 0 || end > len(text) {
		return false
	}
	joins := func(b byte) bool { return b == '-' || b == '?' || b == '!' || b == '\'' }
	return start > 0 && joins(text[start-1]) || end < len(text) && joins(text[end])
}
