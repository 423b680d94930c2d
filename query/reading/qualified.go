package reading

import (
	"regexp"
	"strings"

	"github.com/quarrysearch/quarry/query/syntax"
)

// QualifiedName is a name with the name of what contains it: a receiver, type, module,
// package or folder.
type QualifiedName struct {
	Parent, Name string
	// Outer is what contains the parent, if members of the parent may be members of it: a
	// companion object of Kotlin.
	Outer string
}

// qualifiedNames match a name after the names of what contains it, such as Server.Serve,
// (*Server).Serve, http::Server::Serve, Server#serve and net/http.Server.
var qualifiedNames = regexp.MustCompile(`^[\\/]?(?:[\pL_$][\pL\pN_$.-]*/)*(?:[\pL_$][\pL\pN_$-]*(?:\.|::|#|->|\\|/))*` +
	`(?:\(\*?([\pL_$][\pL\pN_$]*)\)|([\pL_$][\pL\pN_$]*))(?:\.|::|#|->|\\|/)~?([\pL_$][\pL\pN_$]*[!?]?)(?:\(\))?$`)

// withoutParent are qualifiers that do not name what contains a name.
var withoutParent = map[string]bool{"self": true, "this": true, "super": true, "cls": true, "it": true, "www": true, "e": true, "i": true}

// ReadQualified reads a qualified name. ok is false if the text is none.
func ReadQualified(text string) (n QualifiedName, ok bool) {
	m := qualifiedNames.FindStringSubmatch(text)
	if m == nil || withoutParent[m[1]+m[2]] {
		return n, false
	}
	n = QualifiedName{Parent: m[1] + m[2], Name: m[3]}
	if c := companion.FindStringSubmatch(text); c != nil {
		n.Parent, n.Outer = "Companion", c[1]
	} else if i := strings.LastIndexByte(n.Parent, '$') + 1; i > 1 && i < len(n.Parent) {
		n.Parent = n.Parent[i:] // a nested class as the JVM writes it: Map$Entry
	}
	return n, true
}

// companion matches a member of the companion object of a class.
var companion = regexp.MustCompile(`([\pL_][\pL\pN_]*)[.$]Companion\.[\pL\pN_]+(?:\(\))?$`)

// Symbol returns a query for the symbols with the name, whatever contains them.
func (n QualifiedName) Symbol(letters syntax.Case) *syntax.Symbol {
	return &syntax.Symbol{Pattern: "^" + regexp.QuoteMeta(n.Name) + "$", Case: letters}
}

// Place returns a query for the files that are, or are in, a file, folder or repository
// called like the parent.
func (n QualifiedName) Place() syntax.Query {
	return &syntax.Or{Children: []syntax.Query{
		&syntax.File{Pattern: "(^|/)" + regexp.QuoteMeta(n.Parent) + "[/.]", Case: syntax.CaseNo},
		&syntax.Repo{Pattern: "(^|/)" + regexp.QuoteMeta(n.Parent) + "(/v[0-9]+)?$", Case: syntax.CaseNo},
	}}
}
