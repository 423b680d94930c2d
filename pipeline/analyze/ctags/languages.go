package ctags

import "github.com/quarrysearch/quarry/schemas/code"

// ctagsNames maps the languages that only ctags reads to their ctags names.
var ctagsNames = map[code.Language]string{
	"ActionScript":     "Flex",
	"Ada":              "Ada",
	"AsciiDoc":         "Asciidoc",
	"AutoIt":           "AutoIt",
	"Awk":              "Awk",
	"Batchfile":        "DosBatch",
	"BibTeX":           "BibTeX",
	"Cuda":             "CUDA",
	"Eiffel":           "Eiffel",
	"Elm":              "Elm",
	"GDB":              "Gdbinit",
	"Haxe":             "Haxe",
	"Linker Script":    "LdScript",
	"M4":               "M4",
	"M4Sugar":          "Autoconf",
	"Meson":            "Meson",
	"NSIS":             "NSIS",
	"Pod":              "Pod",
	"Puppet":           "PuppetManifest",
	"PureBasic":        "Basic",
	"REXX":             "REXX",
	"RPM Spec":         "RpmSpec",
	"Raku":             "Perl6",
	"RobotFramework":   "Robot",
	"Standard ML":      "SML",
	"Tcl":              "Tcl",
	"TeX":              "Tex",
	"Vim Script":       "Vim",
	"XSLT":             "XSLT",
	"Yacc":             "YACC",
	"Zephir":           "Zephir",
	"reStructuredText": "ReStructuredText",
}

// kindNames maps ctags kinds to our names for them where the two differ.
var kindNames = map[string]code.SymbolKind{
	"augroup":          "group",
	"component":        "field",
	"const":            "constant",
	"constructor":      "enumerator", // of Elm
	"custom":           "target",
	"feature":          "method", // of Eiffel
	"func":             "function",
	"global":           "variable",
	"grammar":          "class",
	"keyword":          "function", // of Robot Framework
	"literal":          "enumerator",
	"local":            "variable",
	"packspec":         "package",
	"pkg":              "package",
	"procedure":        "function",
	"role":             "trait",
	"structure":        "module",
	"submethod":        "method",
	"subprogram":       "function",
	"subprogspec":      "prototype",
	"taskspec":         "task",
	"testcase":         "test",
	"toplevelVariable": "variable",
	"typespec":         "type",
	"value":            "variable",
	"var":              "variable",
}

// kindSet maps each kind that the program lists to our name for it. Tags of other kinds are
// dropped, so that a hostile text cannot make ctags fill a segment's table of kinds.
type kindSet map[string]code.SymbolKind

func newKindSet(names []string) kindSet {
	kinds := make(kindSet, len(names))
	for _, name := range names {
		kinds[name] = code.SymbolKind(name)
		if ours, ok := kindNames[name]; ok {
			kinds[name] = ours
		}
	}
	return kinds
}
