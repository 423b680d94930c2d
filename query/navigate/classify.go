package navigate

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/query/corpus"
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
	// resolves means that the references are resolved, too, and compared with meant.
	resolves bool
	// scope is the function that contains the meaning, if it is visible in that function alone.
	scope *code.Definition
	// surplus is the number of uses that refer to meant, less those of other symbols.
	surplus int
	// users are the repositories with a use that refers to meant.
	users map[*corpus.Repository]bool
	// precise is the meaning according to a precise index; nil if none covers the
	// position.
	precise   *meaning
	navigator *Navigator
}

// classifyAll sets the roles of the matches of a result, and drops the matches in
// comments, strings and prose unless the request includes them.
func (c *classifier) classifyAll(ctx context.Context, found *search.Result, out *Result) {
	if c.at != nil {
		c.resolvePosition(ctx)
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
			c.classifyFile(ctx, f, &found.Files[next], out)
		} else if c.at != nil {
			c.relateFile(f, text)
		}
		if c.precise != nil && len(text) > 0 && time.Now().Before(deadline) && ctx.Err() == nil {
			c.navigator.dropOthers(ctx, c.precise, f, &found.Files[next])
		}
	}
	c.relateUnclear(out)
	out.Files = slices.DeleteFunc(out.Files, func(f File) bool { return len(f.Matches) == 0 })
	out.Matches = 0
	for i := range out.Files {
		out.Matches += len(out.Files[i].Matches)
	}
}

// resolvePosition determines the meaning of the name at the position. The references are
// resolved only if it is no guess.
func (c *classifier) resolvePosition(ctx context.Context) {
	r := c.at
	r.strict = true
	meant := r.resolve(ctx, r.home, r.token)
	if c.resolves = len(meant) > 0 && (meant[0].binding != nil || meant[0].definition() != nil); len(meant) == 0 {
		r.strict = false
		meant = r.resolve(ctx, r.home, r.token)
	}
	if len(meant) > 0 {
		c.meant = &meant[0]
		c.scope = c.meant.scope()
	}
	r.budget = budget{time.Now().Add(maxReferenceTime), maxReferenceSearches, maxReferenceBytes}
}

// classifyFile sets the roles and relations of the matches of one file.
func (c *classifier) classifyFile(ctx context.Context, f *File, found *search.FileMatch, out *Result) {
	text := found.Content
	tokens, whole := c.outline.Tokens(f.Language, text, maxFileTokens)
	var definitions []code.Definition
	resolves := c.resolves && c.at.sharesNames(f.Language)
	if resolves || c.request.IncludeEnclosing || slices.ContainsFunc(f.Matches, func(m Match) bool { return m.Symbol != nil }) {
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
	if len(kept) == 0 {
		return
	}
	if resolves && c.at.files[fileKey{f.Repo, f.Ref, f.Path}] == nil {
		c.at.addSource(found, tokens, definitions)
	}
	if c.at != nil {
		c.relateFile(f, text)
	}
	if resolves {
		c.relateOccurrences(ctx, f, c.at.files[fileKey{f.Repo, f.Ref, f.Path}])
	} else if c.resolves {
		c.relateForeign(f)
	}
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
	if f.Repo == r.home.repo && f.Ref == r.home.ref && f.Path == r.home.path {
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
			if start, _ := meant.file.names.Range(meant.token); f.Ref == meant.file.ref && start == m.Range.Start.ByteOffset {
				m.Relation = RelationMeaning
			}
		}
		return
	}
	relation := f.Matches[0].Relation
	if relation == RelationPackage || !names.Described(f.Language) || len(text) > maxImportBytes {
		return
	}
	var user *names.File
	if in := r.files[fileKey{f.Repo, f.Ref, f.Path}]; in != nil {
		user = in.names
	} else {
		tokens, _ := c.outline.Tokens(f.Language, text, maxImportTokens)
		user = names.Read(f.Path, f.Language, text, tokens, nil)
	}
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

// sortFiles orders the files by their nearest relation to the position. Matches of other
// symbols follow all others, so a file that has both occurs twice.
func (c *classifier) sortFiles(out *Result) {
	if c.at == nil {
		return
	}
	isNamesake := func(m Match) bool { return m.Relation == RelationNamesake }
	for i := range out.Files {
		f := &out.Files[i]
		apart := *f
		apart.Matches = slices.DeleteFunc(slices.Clone(f.Matches), func(m Match) bool { return !isNamesake(m) })
		if n := len(apart.Matches); n > 0 && n < len(f.Matches) {
			f.Matches = slices.DeleteFunc(f.Matches, isNamesake)
			out.Files = append(out.Files, apart)
		}
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
