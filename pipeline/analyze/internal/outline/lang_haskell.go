package outline

var haskell = table{
	languages: "Haskell",
	lexicon: lexicon{
		suffixes: "'",
		keywords: "case class data default deriving do else foreign if import in infix infixl infixr instance let module newtype of then type where",
		soft:     "family forall qualified hiding as pattern",
		comments: []comment{{open: "{-", close: "-}", nested: true}, {open: "--"}, {open: "#", column: 1}},
		strings:  []quote{longDouble, {open: "'", close: "'", escape: '\\', char: true, apart: true}},
	},
	blocks: blockIndent, newlines: true,
	rules: []rule{
		{match: "^ module @*", kind: "module", in: "file", body: bodySection, level: 1},
		{match: "^ data|newtype ... = > @", kind: "type", in: "file"},
		{match: "^ type role", body: bodyNone},
		{match: "^ data|newtype|type data|family|instance? @", kind: "type", in: "file"},
		{match: "^ class ... = > @", kind: "class", in: "file", body: bodyEnter},
		{match: "^ class @", kind: "class", in: "file", body: bodyEnter},
		{match: "^ @ : :", kind: "method", in: "class", body: bodyNone},
		{match: "^ foreign import ... @ : :", kind: "function", body: bodyNone},
		{match: "^ instance|deriving|infix|infixl|infixr|import|foreign|pattern", body: bodyNone},
		{match: "^ @ : :", kind: "function", column: 1, once: true},
		{match: "^ @ ` @ `", kind: "function", column: 1, once: true},
		{match: "^ @ $", kind: "function", column: 1, once: true},
		{match: "^ @ ... =", kind: "function", column: 1, once: true},
		{match: "^ @ ... \\|", kind: "function", column: 1, once: true},
	},
}
