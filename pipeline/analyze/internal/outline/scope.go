package outline

import "github.com/quarrysearch/quarry/schemas/code"

// form determines how the text inside a scope is read.
type form uint8

const (
	formFile        form = iota // declarations
	formTransparent             // declarations of the enclosing scope: extern "C" { … }, if (…) { … }
	formNamespace               // declarations under a name
	formType                    // members
	formEnum                    // enumerators
	formFunction                // statements
	formObject                  // properties of a literal
	formBlock                   // statements or a literal without a name
	formParen                   // a parenthesized group
	formBracket                 // a bracketed group
	formTemplate                // an expression inside a template literal
)

// scope is a region of text whose definitions have a parent.
type scope struct {
	form form
	// name and kind are the parent of the definitions inside. A nameless scope inherits
	// those of the enclosing scope.
	name span
	kind code.SymbolKind
	// def is the definition that the scope belongs to, -1 for none.
	def int32

	unnamed  bool  // a type body without a tag
	typedef  bool  // the name after the body names the type
	first    int32 // number of definitions at the start of the scope
	pending  token // for the grammar: what to do when the scope closes
	finished bool  // for the grammar: all enumerators of an enum are read
}

// maxScopes bounds nesting; deeper groups are skipped entirely.
const maxScopes = 200

// scopes is the stack of open scopes; the file itself is at the bottom.
type scopes struct {
	stack []scope
}

func (s *scopes) topScope() *scope { return &s.stack[len(s.stack)-1] }

func (s *scopes) isFull() bool { return len(s.stack) >= maxScopes }

func (s *scopes) pushScope(in scope) {
	s.stack = append(s.stack, in)
}

// popScope closes the innermost scope, except the file.
func (s *scopes) popScope() (scope, bool) {
	if len(s.stack) == 1 {
		return scope{}, false
	}
	top := s.stack[len(s.stack)-1]
	s.stack = s.stack[:len(s.stack)-1]
	return top, true
}

// inheritScope returns a nameless scope of form f inside the innermost one.
func (s *scopes) inheritScope(f form) scope {
	top := s.topScope()
	return scope{form: f, name: top.name, kind: top.kind, def: -1}
}
