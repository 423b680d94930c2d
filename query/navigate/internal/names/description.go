package names

import (
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// A description says how a language binds names, as far as that can be read from one file:
// which forms introduce local names, where types are written, what imports mean. It is data;
// what the fields stand for is read by the code of this package.
type description struct {
	// languages are the names as go-enry has them, separated by commas.
	languages string
	// indented says that blocks are made by indentation.
	indented bool
	// typeFirst says that a type precedes the name that it is the type of.
	typeFirst bool
	// typeNext says that a type follows the name directly, as in Go.
	typeNext bool
	// annotation precedes the type after a name, result that after parameters.
	annotation, result string
	// declares are words that come before local names or patterns, separated by blanks.
	declares string
	// functions are words that come before parameters, maybe with a name between.
	functions string
	// assigns is the operator whose left side is local names; empty for none.
	assigns string
	// lambda stands between parameters and body of a function without a name.
	lambda string
	// bars says that parameters of functions without a name are between "|".
	bars bool
	// headers are words of statements whose names are visible up to the end of the block
	// after them.
	headers string
	// self are words for the object whose class a function belongs to, super for it as
	// one of the class above.
	self, super string
	// selfParameter says that the first parameter of a method is the object.
	selfParameter bool
	// implicitSelf says that members are named without the object inside of a class.
	implicitSelf bool
	// functionScope says that local names are visible in their whole function.
	functionScope bool
	// arrowMember says that "->" comes before members.
	arrowMember bool
	// heirs are the words before the types that a type extends; with heirGroup they are
	// in a group after the name, with embeds they are members without a name.
	heirs     string
	heirGroup bool
	embeds    bool
	// directories says that the files of a directory share names.
	directories bool
	// typeParameters says that those are in angle brackets, after the name of what is
	// declared, or before it.
	typeParameters bool
	// compositeLiterals says that a type and braces make an object: T{…}.
	compositeLiterals bool
	// keywordArguments says that "name=" in the arguments of a call is a parameter.
	keywordArguments bool
	// imports reads the imports of a file.
	imports func(f *File)
	// places returns where an imported module is, by the path of the importing file.
	places func(file string, i *Import) []Place

	sets struct{ declares, functions, headers, self, super, heirs map[string]bool }
}

// related are the languages that share names, by a name of one of them.
var byLanguage = compileDescriptions(&golang, &java, &typescript, &python, &rust, &cFamily, &csharp)

var plain = compileDescription(&description{})

func compileDescriptions(all ...*description) map[code.Language]*description {
	out := map[code.Language]*description{}
	for _, d := range all {
		compileDescription(d)
		for _, name := range strings.Split(d.languages, ", ") {
			out[code.Language(name)] = d
		}
	}
	return out
}

func compileDescription(d *description) *description {
	d.sets.declares, d.sets.functions, d.sets.headers = wordSet(d.declares), wordSet(d.functions), wordSet(d.headers)
	d.sets.self, d.sets.super, d.sets.heirs = wordSet(d.self), wordSet(d.super), wordSet(d.heirs)
	return d
}

func wordSet(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

// Described reports whether names of a language are resolved by a description.
func Described(language code.Language) bool { return byLanguage[language] != nil }

// Family returns the languages that share names with one, itself among them.
func Family(language code.Language) []string {
	d := byLanguage[language]
	if d == nil {
		return []string{string(language)}
	}
	return strings.Split(d.languages, ", ")
}

// typeKinds are the kinds of definitions that have members.
var typeKinds = []code.SymbolKind{"class", "struct", "interface", "trait", "enum", "union", "type", "alias", "typedef", "annotation", "implementation"}

// IsType reports whether a definition of the kind has members.
func IsType(kind code.SymbolKind) bool { return slices.Contains(typeKinds, kind) }

// IsFunction reports whether a definition of the kind is called.
func IsFunction(kind code.SymbolKind) bool {
	switch kind {
	case "function", "method", "methodSpec", "macro", "singletonMethod":
		return true
	}
	return false
}
