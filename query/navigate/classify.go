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

// Bounds on the text read to tell references from comments, strings and prose. Matches in
// files beyond them are kept, without a role.
const (
	maxClassifyBytes = 32 << 20
	maxClassifyTime  = 2 * time.Second
)

// A classifier determines the roles of the occurrences of a name.
type classifier struct {
	outline Outline
	request *Request
	at      *resolver // at the position; nil without one
	meant   *target   // the meaning of the name at the position, if known
	// precise is the meaning according to a precise index; nil if none covers the
	// position.
	precise   *meaning
	navigator *Navigator
}

// classifyAll sets the roles of the matches of a result, and drops the matches in
// comments, strings and prose unless the request includes them.
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

// classifyFile sets the roles of the matches of one file.
func (c *classifier) classifyFile(f *File, text []byte, out *Result) {
	tokens, whole := c.outline.Tokens(f.Language, text, maxFileTokens)
	var definitions []code.Definition
	if c.request.IncludeEnclosing || slices.ContainsFunc(f.Matches, func(m Match) bool { return m.Symbol != nil }) {
		definitions, _ = c.outline.Describe(f.Language, text) // on error, those found so far
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

// relateFile sets the relation of each match of a file to the position.
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

// Bounds on the part of a file that is read for its imports, which are at its beginning.
const (
	maxImportBytes  = 1 << 20
	maxImportTokens = 1 << 12
)

// relateLocal marks the matches in the file of the position that refer to the same local
// name, or that are its definition.
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

// sortFiles orders the files by their nearest relation to the position.
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

// inIdentifier reports whether text[start:end] is only part of an identifier, like foo in
// foo-bar in Lisp. An identifier that contains a path, such as a selector or a key,
// consists of several names.
func inIdentifier(text []byte, start, end int) bool {
	if start < 0 || end > len(text) {
		return false
	}
	joins := func(b byte) bool { return b == '-' || b == '?' || b == '!' || b == '\'' }
	return start > 0 && joins(text[start-1]) || end < len(text) && joins(text[end])
}
