// Package syntax reads the text of a query into a tree, and prints any tree back.
//
// It answers: what was asked? It knows nothing of the index, of repositories or of languages; it never accesses a disk. docs/query-language.md
// describes the same language to its users, and testdata/ has a script for every rule.
//
// Main types: Parse turns text and Options into a Parsed, whose Root is a Query: And, Or and Not over the leaves Text, File, Repo, Symbol,
// Language, Revision, Archived, Fork, Visibility, Context, RepoSet and Const. A text that is not a query gives an *Error with a position, a message
// and advice. Walk, Map and Simplify work on trees; Print is the inverse of Parse. A Notice says what a valid query may not have been meant to say.
//
// The server whose API we speak reads a smaller language. established.go reads a text as that server does, and
// difference.go compares both readings, so that clients of that server see no query refused or changed without a notice.
//
// How text becomes tokens. Blanks separate tokens. A token is one of
//
//	"…"        quoted, if the closing quote ends the token     \" and \\ are decoded, any other pair is kept
//	(…)        group, if the closing parenthesis ends it       in regexp mode only if it could not be one regexp
//	key:value  filter, if key is in the table of filter.go and a value is attached
//	-token     negation                                        not before a digit, '-', '>' or '='
//	and or not operator, with operands around it               also in upper case
//	anything else is a word: a term, whatever brackets, colons and quotes it holds
//
// So punctuation acts only where it encloses a whole token; inside a token it is text. That is what lets a pasted
// line of code be read as terms and not refused.
//
// Invariants:
//  1. Parse never panics and its work is bounded by the Max constants, whatever the text.
//  2. In a tree from Parse: And and Or have at least two children; the child of Not is no Const; every Case is CaseYes
//     or CaseNo; every regular expression compiles with RegexpFlags; patterns are not empty, except that of a Language,
//     and valid UTF-8; spans lie in the text.
//  3. For every tree of that shape within the limits, Parse(Print(q, o), o) gives q again (spans apart), for every o.
//  4. Simplify keeps the set of documents for which a tree is true.
//  5. Parse takes every text that the established server takes, within the Max constants. If it reads the text otherwise,
//     there is a DifferentMeaning notice, and its suggestion is read here as the text is there.
//
// Concurrency: trees are not changed once built; everything may be called from many goroutines.
//
// It must not: resolve names (languages, contexts, repositories), decide how a leaf is matched, or import a package of
// the index.
package syntax
