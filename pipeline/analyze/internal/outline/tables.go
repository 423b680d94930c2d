package outline

import (
	"strings"
	"sync"

	"github.com/quarrysearch/quarry/schemas/code"
)

// tables are the languages described as data. Each is compiled on first use.
var tables = []*table{
	&kotlin, &scala, &groovy, &swift, &dart, &solidity, &protobuf, &thrift, &graphql, &hcl, &nix, &zig, &dlang,
	&powershell, &perl, &rlang, &css, &less, &objectiveC,
	&lua, &julia, &elixir, &matlab, &fortran, &fortranFree, &pascal, &verilog, &vhdl, &sql, &cmake,
	&haskell, &ocaml, &fsharp, &yaml, &erlang,
	&clojure, &lisp, &emacsLisp, &scheme,
	&makefile, &dockerfile, &ini, &toml, &jsonData, &markdown, &assembly, &cobol,
	&html, &vue, &svelte, &notebook,
}

// tablesByLanguage returns the compiled table of each language.
var tablesByLanguage = func() map[code.Language]func() *compiledTable {
	by := map[code.Language]func() *compiledTable{}
	for _, t := range tables {
		compile := sync.OnceValue(func() *compiledTable { return compileTable(t) })
		for _, language := range strings.Split(t.languages, ", ") {
			by[code.Language(language)] = compile
		}
	}
	return by
}()
