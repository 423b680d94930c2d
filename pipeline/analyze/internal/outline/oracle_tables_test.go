package outline

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// oracle describes how universal-ctags treats a language that is read by a table.
type oracle struct {
	ctags      string // its name for the language; the go-enry name if empty
	extensions string
	// theirs and ours map kinds to the groups that are compared, as "kind=group", or
	// "kind" for a group of the same name. Kinds that are not listed are ignored.
	theirs, ours string
	// kinds turns on kinds that are off by default, as --kinds-LANGUAGE does.
	kinds string
}

// oracles are the languages with tables that universal-ctags supports.
var oracles = map[code.Language]oracle{
	"Kotlin": {extensions: ".kt", theirs: "class=type interface=type object=type typealias=type method=function package constant=property variable=property",
		ours: "class=type interface=type object=type enum=type annotation=type alias=type function method=function package property"},
	"Lua":        {extensions: ".lua", theirs: "function", ours: "function method=function"},
	"Perl":       {extensions: ".pm .pl", theirs: "subroutine=function package constant", ours: "subroutine=function package constant"},
	"R":          {extensions: ".R .r", theirs: "function", ours: "function"},
	"Julia":      {extensions: ".jl", theirs: "function macro module struct=type type constant", ours: "function method=function macro module struct=type type constant"},
	"Elixir":     {extensions: ".ex .exs", theirs: "macro callback delegate=function function guard implementation=module module protocol=module type test", ours: "macro callback delegate=function function guard implementation=module module protocol=module type test"},
	"Erlang":     {extensions: ".erl .hrl", theirs: "macro function module record type", ours: "macro function module record type"},
	"Haskell":    {extensions: ".hs", theirs: "function module type", ours: "function module type class=type"},
	"OCaml":      {extensions: ".ml .mli", theirs: "module class=type function=value method type val=value var=value Exception=exception", ours: "module interface=module class=type function=value variable=value method type exception"},
	"Clojure":    {extensions: ".clj .cljs .cljc", theirs: "function namespace", ours: "function namespace"},
	"PowerShell": {extensions: ".ps1 .psm1", theirs: "function", ours: "function"},
	"SQL":        {extensions: ".sql", theirs: "table view function procedure=function index trigger package", ours: "table view function procedure=function index trigger package"},
	"Protocol Buffer": {ctags: "Protobuf", extensions: ".proto", theirs: "enum=type message=type service=type package rpc=function oneof field enumerator",
		ours: "enum=type message=type service=type package rpc=function oneof field enumerator"},
	"D": {extensions: ".d", kinds: "+p", theirs: "function prototype=function class=type struct=type interface=type union=type enum=type template module alias enumerator", ours: "function method=function class=type struct=type interface=type union=type enum=type template module alias enumerator"},
	"Objective-C": {ctags: "ObjectiveC", extensions: ".m .mm", theirs: "implementation=type interface=type class=function method=function function property macro typedef=typedef",
		ours: "implementation=type interface=type method=function function property macro typedef"},
	"Makefile":          {ctags: "Make", extensions: ".mk Makefile", theirs: "macro=variable target", ours: "variable target"},
	"CMake":             {extensions: ".cmake CMakeLists.txt", theirs: "option function macro=function project target variable", ours: "option function macro=function project target variable"},
	"HTML":              {extensions: ".html .htm", theirs: "id anchor", ours: "id anchor"},
	"CSS":               {extensions: ".css", theirs: "class id", ours: "class id"},
	"SCSS":              {extensions: ".scss", theirs: "function mixin=function variable placeholder", ours: "function variable placeholder"},
	"Markdown":          {extensions: ".md", theirs: "chapter section subsection subsubsection", ours: "chapter section subsection subsubsection"},
	"JSON":              {extensions: ".json", theirs: "array=key boolean=key number=key object=key string=key null=key", ours: "key"},
	"INI":               {ctags: "Iniconf", extensions: ".ini .cfg .conf", theirs: "key section", ours: "key section"},
	"SystemVerilog":     {extensions: ".sv .v .svh", theirs: "class=type interface=type package module program function=function task=function typedef constant=constant", ours: "class=type interface=type package module program function method=function task=function typedef constant"},
	"VHDL":              {extensions: ".vhd .vhdl", theirs: "architecture entity=type package procedure=function function type record=type subtype=type process", ours: "architecture entity=type package packageBody=package procedure=function function type record=type subtype=type process"},
	"Unix Assembly":     {ctags: "Asm", extensions: ".s .S .asm", theirs: "define=constant label macro", ours: "constant label macro function=label"},
	"Fortran":           {extensions: ".f .for", theirs: "function=function subroutine=function module program type submodule", ours: "function subroutine=function module program type submodule"},
	"Fortran Free Form": {ctags: "Fortran", extensions: ".f90 .F90 .f95", theirs: "function=function subroutine=function module program type submodule", ours: "function subroutine=function module program type submodule"},
	"Pascal":            {extensions: ".pas .pp", theirs: "function procedure=function", ours: "function method=function"},
	"MATLAB":            {ctags: "MatLab", extensions: ".m", theirs: "function class", ours: "function method=function class"},
	"COBOL":             {ctags: "Cobol", extensions: ".cob .cbl", theirs: "program paragraph section", ours: "program paragraph section"},
	"Common Lisp":       {ctags: "Lisp", extensions: ".lisp .lsp", theirs: "function macro variable const=constant", ours: "function macro variable constant"},
	"Emacs Lisp":        {ctags: "EmacsLisp", extensions: ".el", theirs: "function subst=function inline=function macro variable const=constant custom=variable group face alias", ours: "function macro variable constant group face alias"},
	"Scheme":            {extensions: ".scm .ss", theirs: "function", ours: "function variable=function macro=function"}, // ctags calls everything a function
}

// isUnnamed reports whether a tag has no name in the text or is local to a function.
func isUnnamed(language code.Language, name, kind, scope string) bool {
	switch language {
	case "Kotlin":
		return name == "<lambda>" || kind != "method" && scope == "method" || name == "Companion"
	case "R":
		return strings.HasPrefix(name, "anonFunc")
	case "Elixir", "OCaml":
		return !isWordByte(name[0]) // an operator
	case "Haskell":
		return name == "function" || name == "::"
	}
	return false
}

func isWordByte(c byte) bool { return isLetter(c) || c == '_' || c >= '0' && c <= '9' || c >= 0x80 }

// atOtherLine reports whether ctags gives another line than that of the name, such as that
// of the body, so that names are compared by file alone.
func atOtherLine(language code.Language) bool {
	switch language {
	case "R", "Objective-C", "Haskell", "PowerShell":
		return true
	}
	return false
}

// byClause reports whether ctags emits a tag for every clause of a function, where we emit
// one for the first.
func byClause(language code.Language) bool { return language == "Erlang" || language == "Haskell" }

// isMistaken reports whether the line of a tag shows that it is not a definition.
func isMistaken(language code.Language, kind, line string) bool {
	switch language {
	case "Kotlin":
		return kind == "method" && !strings.Contains(line, "fun ") && !strings.Contains(line, "fun<")
	case "Elixir":
		return line == inText
	case "Scheme":
		return !schemeDefinition.MatchString(line)
	case "Haskell":
		return kind == "function" && (line == "" || strings.ContainsAny(line[:1], " \t,{:(")) // a field or a local name
	case "OCaml":
		return kind == "module" && !strings.Contains(line, "module") // a module named after the file
	}
	return false
}

// selectorName is a class or an ID in a selector of a style sheet.
var selectorName = regexp.MustCompile(`[.#]((?:[\w-]|[^\x00-\x7f]|\\[0-9a-fA-F]{1,6} ?|\\.)+)`)

// schemeDefinition matches the line of a definition. ctags takes everything that begins with
// "define" for one, such as a module.
var schemeDefinition = regexp.MustCompile(`\(define(\*|-public|\*-public|-inlinable|-syntax|-syntax-rule|-macro)?[\s(]`)

// excluded matches the part of a selector that excludes classes and so does not name them.
var excluded = regexp.MustCompile(`:not\([^)]*\)?`)

// splitSelector returns the names in a tag. In style sheets the name of a tag is a selector
// without blanks, such as .btn.active>.icon:not(.small).
func splitSelector(language code.Language, selector string, k key) (parts []key) {
	if language != "CSS" || k.group != "class" && k.group != "id" {
		return []key{k}
	}
	for _, m := range selectorName.FindAllStringSubmatch(excluded.ReplaceAllString(selector, ""), -1) {
		part := key{name: m[1], group: "class"}
		if m[0][0] == '#' {
			part.group = "id"
		}
		parts = append(parts, part)
	}
	return parts
}

// inText marks a line inside a documentation text.
const inText = "\x00"

// sourceLines holds the lines of files by path.
type sourceLines map[string][]string

// formatLine returns a line of a file, or inText if it is inside a text between triple
// quotes.
func (s sourceLines) formatLine(path string, n int) string {
	if s[path] == nil {
		text, _ := os.ReadFile(path)
		lines := strings.Split(string(text), "\n")
		inside := false
		for i, line := range lines {
			quotes := strings.Count(line, `"""`)
			if inside && quotes == 0 {
				lines[i] = inText
			}
			inside = inside != (quotes%2 == 1)
		}
		s[path] = lines
	}
	if n < 1 || n > len(s[path]) {
		return ""
	}
	return s[path][n-1]
}

// oracleGroup returns the group in which a kind is compared, or an empty string for an
// ignored kind.
func oracleGroup(kinds, kind string) string {
	for _, entry := range strings.Fields(kinds) {
		name, as, ok := strings.Cut(entry, "=")
		if name != kind {
			continue
		}
		if ok {
			return as
		}
		return name
	}
	return ""
}

// tableFloors are the minimum recall and precision of the languages with tables that
// ctags reads well enough for comparison. docs/languages.md contains the figures and
// explains where ctags is wrong. A floor of 0 means none.
var tableFloors = map[code.Language]map[string]floor{
	"CMake":           {"function": {0.96, 0.99}, "target": {0.99, 0.93}, "variable": {0.98, 0.92}},
	"CSS":             {"class": {0.98, 0.83}},
	"Clojure":         {"function": {0.98, 0}, "namespace": {0.92, 0}},
	"Common Lisp":     {"function": {0.98, 0.93}, "macro": {0.98, 0.89}, "variable": {0.99, 0.85}},
	"D":               {"function": {0.97, 0.68}, "type": {0.99, 0.78}, "module": {0.98, 0.99}, "template": {0.99, 0.74}, "enumerator": {0.99, 0.91}},
	"Emacs Lisp":      {"function": {0.99, 0.95}, "macro": {0.99, 0.94}, "variable": {0.99, 0.97}, "constant": {0.99, 0.95}, "face": {0.99, 0.98}, "group": {0.99, 0.99}, "alias": {0.98, 0.76}},
	"Elixir":          {"function": {0.95, 0.97}, "module": {0.92, 0.99}, "macro": {0.95, 0.99}, "type": {0.97, 0.99}},
	"Erlang":          {"function": {0.99, 0.98}, "record": {0.99, 0.99}, "type": {0.99, 0.99}, "macro": {0.99, 0.90}},
	"Fortran":         {"function": {0.99, 0.99}},
	"HTML":            {"id": {0.99, 0.99}},
	"Haskell":         {"function": {0.98, 0.96}, "type": {0.99, 0.93}, "module": {0.99, 0.99}},
	"Kotlin":          {"function": {0.96, 0.99}, "type": {0.98, 0.98}, "property": {0.92, 0.99}},
	"Lua":             {"function": {0.94, 0.99}},
	"MATLAB":          {"function": {0.98, 0.97}, "class": {0.99, 0.99}},
	"Markdown":        {"section": {0.99, 0.99}, "subsection": {0.99, 0.99}},
	"OCaml":           {"module": {0.99, 0.96}, "type": {0.97, 0.88}, "value": {0.98, 0}},
	"Objective-C":     {"function": {0.96, 0.93}, "type": {0.98, 0.99}},
	"Pascal":          {"function": {0.95, 0.89}},
	"Perl":            {"function": {0.96, 0.96}, "package": {0.95, 0.97}, "constant": {0.97, 0.98}},
	"PowerShell":      {"function": {0.99, 0.65}},
	"Protocol Buffer": {"type": {0.99, 0.99}, "function": {0.99, 0.99}, "enumerator": {0.99, 0.99}},
	"R":               {"function": {0.98, 0.97}},
	"SQL":             {"function": {0.97, 0}, "table": {0.98, 0}, "view": {0.99, 0}, "index": {0.99, 0}},
	"SCSS":            {"function": {0.99, 0.94}, "variable": {0.96, 0.96}},
	"Scheme":          {"function": {0.99, 0.68}},
	"VHDL":            {"function": {0.99, 0.99}, "type": {0.93, 0.82}, "package": {0.98, 0.99}},
	"SystemVerilog":   {"module": {0.99, 0.97}, "function": {0.93, 0.92}, "constant": {0.96, 0.99}},
}

// furtherCorpora returns the directories to compare for tables and handFloors: those of a
// flag, or those that exist on every development machine.
func furtherCorpora() []corpus {
	var all []corpus
	floorsOf := maps.Clone(tableFloors)
	maps.Copy(floorsOf, handFloors)
	for language, floors := range floorsOf {
		dir, files := filepath.Join(*corporaFlag, strings.ReplaceAll(string(language), " ", "_")), 1<<20
		if *corporaFlag == "" {
			if dir = systemCorpora[language]; dir == "" {
				continue
			}
			files = 300
		}
		all = append(all, corpus{language, dir, files, floors})
	}
	slices.SortFunc(all, func(a, b corpus) int { return strings.Compare(string(a.language), string(b.language)) })
	return all
}

// systemCorpora are the directories in which Linux keeps sources of a language.
var systemCorpora = map[code.Language]string{"Perl": "/usr/share/perl5"}
