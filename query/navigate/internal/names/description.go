package names

import (
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// A description defines how a language binds names, as far as one file shows it: which
// forms introduce local names, where types are written, what imports mean. It is data,
// which the code of this package interprets.
type description struct {
	// languages are the go-enry names of the languages, separated by commas.
	languages string
	// indented means that indentation forms blocks.
	indented bool
	// typeFirst means that a type precedes the name it applies to.
	typeFirst bool
	// typeNext means that a type follows the name directly, as in Go.
	typeNext bool
	// annotation precedes the type after a name, and result the type after parameters.
	annotation, result string
	// declares are words before local names or patterns, separated by blanks.
	declares string
	// functions are words before parameters, optionally with a name in between.
	functions string
	// assigns is the operator with local names on its left side; empty for none.
	assigns string
	// lambda is the text between the parameters and body of a function without a name.
	lambda string
	// bars means that "|" encloses the parameters of functions without a name.
	bars bool
	// headers are words of statements whose names are visible to the end of the following
	// block.
	headers string
	// self are words for the object whose class a function belongs to, and super for that
	// object as an instance of a superclass.
	self, super string
	// selfParameter means that the first parameter of a method is the object.
	selfParameter bool
	// implicitSelf means that a class refers to its members without naming the object.
	implicitSelf bool
	// functionScope means that local names are visible in their whole function.
	functionScope bool
	// arrowMember means that "->" may precede members.
	arrowMember bool
	// heirs are the words before the types that a type extends. With heirGroup these
	// types are in a group after the name; with embeds they are members without a name.
	heirs     string
	heirGroup bool
	embeds    bool
	// directories means that the files of a directory share names.
	directories bool
	// typeParameters means that type parameters are in angle brackets, before or after
	// the declared name.
	typeParameters bool
	// compositeLiterals means that a type followed by braces creates a value: T{…}.
	compositeLiterals bool
	// keywordArguments means that "name=" in the arguments of a call is a parameter.
	keywordArguments bool
	// imports reads the imports of a file.
	imports func(f *File)
	// places returns the possible places of an imported module, given the path of the
	// importing file.
	places func(file string, i *Import) []Place

	sets struct{ declares, functions, headers, self, super, heirs map[string]bool }
}

// byLanguage holds the description of each language.
var byLanguage = compileDescriptions(&golang, &java, &typescript, &python, &rust, &cFamily, &csharp, &kotlin)

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

// Described reports whether a description resolves the names of a language.
func Described(language code.Language) bool { return byLanguage[language] != nil }

// Family returns the languages that share names with a language, including that language.
func Family(language code.Language) []string {
	d := byLanguage[language]
	if d == nil {
		return []string{string(language)}
	}
	return strings.Split(d.languages, ", ")
}

// typeKinds are the kinds of definitions that have members.
var typeKinds = []code.SymbolKind{"class", "struct", "interface", "trait", "enum", "union", "type", "alias", "typedef", "annotation", "implementation", "object"}

// IsType reports whether a definition of the kind has members.
func IsType(kind code.SymbolKind) bool { return slices.Contains(typeKinds, kind) }

// IsFunction reports whether a definition of the kind can be called.
func IsFunction(kind code.SymbolKind) bool {
	switch kind {
	case "function", "method", "methodSpec", "macro", "singletonMethod":
		return true
	}
	return false
}
