package reading

import (
	"regexp"

	"github.com/quarrysearch/quarry/query/syntax"
)

// QualifiedName is a name with the name of what contains it: a receiver, type, module,
// package or folder.
type QualifiedName struct {
	Parent, Name string
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
	return QualifiedName{m[1] + m[2], m[3]}, true
}

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
