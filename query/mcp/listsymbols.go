package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/quarrysearch/quarry/query/navigate"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

var listSymbolsTool = &tool{
	name: "list_symbols", scope: account.ScopeSearch,
	about: "Symbols that a file or repository defines.",
	params: []param{
		requiredParam("repo", code.MaxNameBytes, ""),
		hideParam(textParam("ref", code.MaxRefBytes, "")),
		textParam("path", maxPathBytes, ""),
		textParam("prefix", code.MaxSymbolBytes, ""),
		textParam("kind", 64, ""),
		textParam("parent", code.MaxSymbolBytes, ""),
		hideParam(numberParam("offset", 0, navigate.MaxSymbols, 0, "")), // answers name this argument
		hiddenMaxTokens,
	},
	call: func(c *call, ctx context.Context) error { return c.listSymbols(ctx) },
}

func (c *call) listSymbols(ctx context.Context) error {
	if _, err := c.o.Index.Repository(ctx, c.args.getText("repo")); err != nil {
		return err
	}
	view, err := c.openView(ctx)
	if err != nil {
		return err
	}
	defer view.Release()
	found, err := c.navigator.Symbols(ctx, view, navigate.SymbolsRequest{
		Repository: c.args.getText("repo"), Revision: c.args.getText("ref"), Path: c.args.getText("path"),
		Prefix: c.args.getText("prefix"), Kind: c.args.getText("kind"), Parent: c.args.getText("parent"),
	})
	if err != nil {
		return err
	}
	if len(found.Symbols) == 0 && !found.Exhaustive {
		c.addLinef("Found no symbols before the time of the search was over. Call again, or give a path.")
		return nil
	}
	if len(found.Symbols) == 0 {
		c.addLinef("Found no symbols.")
		c.suggestRef(ctx, c.args.getText("repo"), c.args.getText("ref"))
		if path := c.args.getText("path"); path != "" {
			c.addLinef("glob with pattern **/%s finds the file wherever it is; read_file shows its text.", path[strings.LastIndexByte(path, '/')+1:])
		}
		return nil
	}
	more := ""
	if !found.Exhaustive {
		more = "more than "
	}
	var kinds []string
	for _, k := range found.CountKinds() {
		kinds = append(kinds, fmt.Sprintf("%d %s", k.Count, k.Kind))
	}
	c.addLinef("Found %s%s: %s.", more, formatCount(len(found.Symbols), "symbol", "symbols"), strings.Join(kinds, ", "))
	c.listedSymbolLines(found)
	return nil
}

// listedSymbolLines writes the symbols from the offset on, grouped by file.
func (c *call) listedSymbolLines(found *navigate.SymbolList) {
	offset := c.args.getNumber("offset")
	if offset >= len(found.Symbols) {
		c.addLinef("There are no symbols from offset %d on.", offset)
		return
	}
	file := ""
	for i := offset; i < len(found.Symbols); i++ {
		l := &found.Symbols[i]
		line := fmt.Sprintf("%d: %s %s", l.Start.LineNumber, l.Symbol.Kind, l.Symbol.Name)
		if l.Symbol.Parent != "" {
			line += " of " + l.Symbol.Parent
		}
		if l.Path != file {
			line = pathText(l.Path) + ":\n" + line
		}
		if !c.out.addLineIfFits(line) {
			c.addLinef("\n%s: offset=%d goes on.", formatCount(len(found.Symbols)-i, "more symbol", "more symbols"), i)
			return
		}
		file = l.Path
	}
}
