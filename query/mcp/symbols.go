package mcp

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/quarrysearch/quarry/query/navigate"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

var symbolParams = []param{
	required("symbol", code.MaxSymbolBytes, "Bare name of the symbol, such as NewReader: no package, receiver, parentheses or pattern. Case matters."),
	text("repo", code.MaxNameBytes, "Full name of one repository, exactly as list_repos gives it; give it where you can. Absent: all repositories."),
	text("language", 64, "Keep files in this language and its relatives: Go, TypeScript, C++."),
	text("ref", code.MaxRefBytes, "Indexed branch; absent: the default branch."),
	whole("limit", 1, navigate.MaxMatches, defaultLimit, "Matches to show."),
	whole("offset", 0, navigate.MaxMatches, 0, "Matches to pass over; the answer before says which offset comes next."),
}

var findDefinitionsTool = &tool{
	name: "find_symbol_definitions", title: "Find where a symbol is defined", scope: account.ScopeSearch,
	about: "Finds where a function, type, class, method, constant or variable is declared, by its exact name. Prefer it to grep for `func NewReader` and the like; it knows how each language declares. " +
		"The answer begins with the number of matches; then come the files as `[repo] path:` with their lines as `line: text`. If it finds nothing, the name may be local or generated: grep for it.",
	params: symbolParams,
	call: func(c *call, ctx context.Context) error {
		return c.symbols(ctx, "definition", c.navigator.Definitions)
	},
}

var findReferencesTool = &tool{
	name: "find_symbol_references", title: "Find where a symbol is used", scope: account.ScopeSearch,
	about: "Finds where a name occurs as a whole word, its definitions included: callers, uses, mentions. It goes by the name, so other symbols of the same name are among them; language and repo narrow. " +
		"The answer begins with the number of matches; then come the files as `[repo] path:` with their lines as `line: text`.",
	params: symbolParams,
	call: func(c *call, ctx context.Context) error {
		return c.symbols(ctx, "reference", c.navigator.References)
	},
}

// find is Definitions or References of a Navigator.
type find func(ctx context.Context, v search.View, r navigate.Request) (*navigate.Result, error)

func (c *call) symbols(ctx context.Context, what string, find find) error {
	repo := c.args.text("repo")
	if repo != "" {
		if _, err := c.o.Sight.Repository(ctx, repo); err != nil {
			return err
		}
	}
	view, err := c.o.Sight.View(ctx)
	if err != nil {
		return err
	}
	defer view.Release()
	r := navigate.Request{Symbol: c.args.text("symbol"), Language: c.args.text("language"), Revision: c.args.text("ref"), Repository: repo}
	found, err := find(ctx, view, r)
	if err != nil {
		return err
	}
	if found.Matches == 0 {
		c.noSymbol(ctx, what, &r)
		c.writeNotices(found.Notices, symbolArgumentOf)
		return nil
	}
	more := ""
	if !found.Exhaustive {
		more = "more than "
	}
	c.linef("Found %s%s in %s.", more, plural(found.Matches, what, what+"s"), plural(len(found.Files), "file", "files"))
	c.symbolLines(found)
	return nil
}

var bareName = regexp.MustCompile(`^[\pL_][\pL\pN_]*$`)

func (c *call) noSymbol(ctx context.Context, what string, r *navigate.Request) {
	c.linef("Found no %s of %s.", what, r.Symbol)
	c.suggestRef(ctx, r.Repository, r.Revision)
	switch bare := r.Symbol[strings.LastIndexAny(r.Symbol, ".:#")+1:]; {
	case bare != r.Symbol && bareName.MatchString(bare):
		c.linef("Give the bare name: symbol=%s.", bare)
	case r.Language != "":
		c.linef("Leave language out, or grep for the name.")
	case r.Repository != "":
		c.linef("It may be defined in another repository: leave repo out. Or grep for the name with ignoreCase.")
	default:
		c.linef("grep for the name with ignoreCase finds other spellings.")
	}
}

// symbolLines writes the matches from the offset on.
func (c *call) symbolLines(r *navigate.Result) {
	passed, offset := 0, c.args.whole("offset")
	last := min(offset+c.args.whole("limit"), r.Matches)
	for i := range r.Files {
		f := &r.Files[i]
		heading, line := fmt.Sprintf("\n[%s] %s:\n", f.Repo.Name, pathText(f.Path)), 0
		for _, m := range f.Matches {
			if passed >= last {
				break
			}
			if passed++; passed <= offset || m.Range.Start.LineNumber == line {
				continue
			}
			if !c.out.line(fmt.Sprintf("%s%d: %s", heading, m.Range.Start.LineNumber, cutLine(m.Line))) {
				passed--
				last = passed
				break
			}
			heading, line = "", m.Range.Start.LineNumber
		}
	}
	if offset >= r.Matches {
		c.linef("There are no matches from offset %d on.", offset)
		return
	}
	if last < r.Matches {
		c.linef("\n%s: offset=%d goes on; repo and language narrow.", plural(r.Matches-last, "more match", "more matches"), last)
	}
}
