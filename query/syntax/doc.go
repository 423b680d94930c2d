// Package syntax parses the text of a query into a tree, and prints any tree back.
//
// It answers the question: what was asked? It knows nothing about the index, repositories
// or languages, and never accesses a disk. docs/query-language.md describes the language
// to its users, and testdata/ has a script for every rule.
//
// Main types: Parse turns text and Options into a Parsed, whose Root is a Query: And, Or
// and Not over the leaves Text, File, Repo, Symbol, Language, Revision, Archived, Fork,
// Visibility, Context, RepoSet, RepoHas, FileHas, Owned and Const. For invalid text it
// returns an *Error with a position, a message and advice. Walk, Map and Simplify work on
// trees; Print is the inverse of Parse. A Notice reports that a valid query may not mean
// what its writer intended.
//
// The server whose API Quarry implements reads a smaller language. established.go reads a
// text as that server does, and difference.go compares both readings, so that clients of
// that server see no query refused or changed without a notice.
//
// How text becomes tokens: blanks separate tokens. A token is one of
//
//	"…"        quoted, if the closing quote ends the token     \" and \\ are decoded, any other pair is kept
//	(…)        group, if the closing parenthesis ends it       in regexp mode only if it could not be one regexp
//	key:value  filter, if key is in the table of filter.go and a value is attached
//	-token     negation                                        not before a digit, '-', '>' or '='
//	and or not operator, with operands around it               also in upper case
//	anything else is a word: a term, including its brackets, colons and quotes
//
// So punctuation is syntax only where it encloses a whole token; inside a token it is
// text. This is why a pasted line of code is read as terms and not refused.
//
// Invariants:
//  1. Parse never panics and its work is bounded by the Max constants for any text.
//  2. In a tree from Parse: And and Or have at least two children; the child of Not is not
//     a Const; every Case is CaseYes or CaseNo; every regular expression compiles with
//     RegexpFlags; patterns are valid UTF-8 and, except that of a Language, not empty;
//     spans lie in the text.
//  3. For every tree of that shape within the limits, Parse(Print(q, o), o) returns q again
//     (spans apart), for every o.
//  4. Simplify preserves the set of documents for which a tree is true.
//  5. Parse accepts every text that the established server accepts, within the Max
//     constants. If it reads the text differently, it adds a DifferentMeaning notice, and
//     reads the notice's suggestion as the established server reads the text.
//
// Concurrency: trees are immutable once built; everything is safe for concurrent use.
//
// The package must not resolve names (languages, contexts, repositories), decide how a
// leaf is matched, or import a package of the index.
package syntax
