package mcp

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/navigate"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

var symbolParams = []param{
	requiredParam("symbol", code.MaxSymbolBytes, "Bare name, case as written"),
	repoFilter,
	textParam("language", 64, ""),
	textParam("ref", code.MaxRefBytes, ""),
	hideParam(numberParam("limit", 1, navigate.MaxMatches, defaultLimit, "")),
	hideParam(numberParam("offset", 0, navigate.MaxMatches, 0, "")), // answers name this argument
	hiddenMaxTokens,
}

// positionParams returns the params for a position at which the symbol is used.
func positionParams(about string) []param {
	return []param{
		textParam("path", maxPathBytes, about),
		numberParam("line", 1, math.MaxInt32, unset, ""),
		hideParam(numberParam("column", 1, math.MaxInt32, unset, "")),
	}
}

var findDefinitionsTool = &tool{
	name: "find_symbol_definitions", scope: account.ScopeSearch,
	about:  "Where a function, type, method, constant or variable is declared.",
	params: slices.Concat([]param{choiceParam("match", "", "exact", "prefix"), textParam("kind", 64, "struct, function, method, …")}, symbolParams, positionParams("Where used, with repo and line")),
	call: func(c *call, ctx context.Context) error {
		return c.findSymbols(ctx, "definition", c.navigator.Definitions)
	},
}

var findReferencesTool = &tool{
	name: "find_symbol_references", scope: account.ScopeSearch,
	about:  "Where a name is used: definitions too, but not comments and strings; includes other symbols of that name.",
	params: slices.Concat(symbolParams, positionParams("")),
	call: func(c *call, ctx context.Context) error {
		return c.findSymbols(ctx, "reference", c.navigator.References)
	},
}

var findImplementationsTool = &tool{
	name: "find_implementations", scope: account.ScopeSearch,
	about:  "Types that implement or extend a type, by their declarations; for Go interfaces, by names of methods.",
	params: symbolParams,
	call: func(c *call, ctx context.Context) error {
		return c.findSymbols(ctx, "implementation", c.navigator.Implementations)
	},
}

// findFunc is the Definitions or References method of a Navigator.
type findFunc func(ctx context.Context, v corpus.View, r navigate.Request) (*navigate.Result, error)

func (c *call) findSymbols(ctx context.Context, what string, find findFunc) error {
	repo := c.args.getText("repo")
	if repo != "" {
		if _, err := c.o.Index.Repository(ctx, repo); err != nil {
			return err
		}
	}
	view, err := c.openView(ctx)
	if err != nil {
		return err
	}
	defer view.Release()
	r := navigate.Request{Symbol: c.args.getText("symbol"), Language: c.args.getText("language"), Revision: c.args.getText("ref"), Repository: repo}
	r.Prefix = c.args["match"] == "prefix"
	r.Kind, _ = c.args["kind"].(string)
	if r.Position, err = c.position(); err != nil {
		return err
	}
	if r.Position != nil {
		r.Repository, r.Revision = "", "" // they belong to the position; the definition may be elsewhere
	}
	found, err := find(ctx, view, r)
	if err != nil {
		return err
	}
	if kind := r.Kind; kind != "" && found.Matches == 0 {
		r.Kind = ""
		if found, err = find(ctx, view, r); err != nil {
			return err
		}
		if found.Matches > 0 {
			c.addLinef("Found no %s %s; its definitions are of the kinds %s.", kind, r.Symbol, strings.Join(found.Kinds(), ", "))
			return nil
		}
	}
	if found.Matches == 0 {
		c.adviseNoSymbol(ctx, what, &r, found.Exhaustive)
		c.addTextMatches(found)
		c.writeNotices(found.Notices, symbolArgumentOf)
		return nil
	}
	more := ""
	if !found.Exhaustive {
		more = "more than "
	}
	c.addLinef("Found %s%s in %s%s.", more, formatCount(found.Matches, what, what+"s"), formatCount(len(found.Files), "file", "files"), formatPrecise(found))
	c.symbolLines(found)
	c.addTextMatches(found)
	return nil
}

// formatPrecise reports how many matches come from a precise index.
func formatPrecise(found *navigate.Result) string {
	n := found.PreciseMatches()
	switch n {
	case 0:
		return ""
	case found.Matches:
		return ", as the index of a compiler says"
	}
	return fmt.Sprintf(", %d of them confirmed by a precise index", n)
}

// position returns where the symbol is used, or nil if the call gives no position.
func (c *call) position() (*navigate.Position, error) {
	path, _ := c.args["path"].(string)
	line, _ := c.args["line"].(int)
	column, _ := c.args["column"].(int)
	switch {
	case path == "" && line <= 0 && column <= 0:
		return nil, nil
	case path == "" || line <= 0 || c.args.getText("repo") == "":
		return nil, fmt.Errorf("%w: a position needs repo, path and line", errArguments)
	}
	return &navigate.Position{Repository: c.args.getText("repo"), Revision: c.args.getText("ref"), Path: path, Line: line, Column: max(column, 0)}, nil
}

// addTextMatches reports how many occurrences were left out.
func (c *call) addTextMatches(found *navigate.Result) {
	if found.TextMatches > 0 {
		c.addLinef("\n%s in comments, strings and prose, which grep shows.", formatCount(found.TextMatches, "more is", "more are"))
	}
}

var bareName = regexp.MustCompile(`^[\pL_][\pL\pN_]*$`)

func (c *call) adviseNoSymbol(ctx context.Context, what string, r *navigate.Request, exhaustive bool) {
	if !exhaustive {
		c.addLinef("Found no %s of %s before the time of the search was over. Call again, or narrow it with repo.", what, r.Symbol)
		return
	}
	c.addLinef("Found no %s of %s.", what, r.Symbol)
	c.suggestRef(ctx, r.Repository, r.Revision)
	if r.Position != nil {
		return // a notice gives more detail
	}
	switch bare := r.Symbol[strings.LastIndexAny(r.Symbol, ".:#")+1:]; {
	case bare != r.Symbol && bareName.MatchString(bare):
		c.addLinef("Give the bare name: symbol=%s.", bare)
	case r.Language != "":
		c.addLinef("Leave language out, or grep for the name.")
	case r.Repository != "":
		c.addLinef("It may be in another repository: leave repo out. Or use search.")
	default:
		c.addLinef("search for the name finds other spellings and local names.")
	}
}

// symbolLines writes the matches from the offset on, grouped by repository.
func (c *call) symbolLines(r *navigate.Result) {
	passed, offset, repository, namesakes := 0, c.args.getNumber("offset"), "", false
	last := min(offset+c.args.getNumber("limit"), r.Matches)
	for i := range r.Files {
		f := &r.Files[i]
		heading, line := "", 0
		apart := len(f.Matches) > 0 && f.Matches[0].Relation == navigate.RelationNamesake
		if apart && !namesakes {
			heading, repository = "\nOther symbols of that name:\n", ""
		}
		if f.Repo.Name != repository {
			heading += "\n[" + f.Repo.Name + "]\n"
		}
		heading += pathText(f.Path) + ":\n"
		for _, m := range f.Matches {
			if passed >= last {
				break
			}
			if passed++; passed <= offset || m.Range.Start.LineNumber == line {
				continue
			}
			if !c.out.addLineIfFits(fmt.Sprintf("%s%d: %s", heading, m.Range.Start.LineNumber, cutAround(m.Line, m.Range.Start.Column-1))) {
				passed--
				last = passed
				break
			}
			heading, line, repository, namesakes = "", m.Range.Start.LineNumber, f.Repo.Name, apart
		}
	}
	if offset >= r.Matches {
		c.addLinef("There are no matches from offset %d on.", offset)
		return
	}
	if last < r.Matches {
		c.addLinef("\n%s: offset=%d goes on.", formatCount(r.Matches-last, "more match", "more matches"), last)
	}
}
