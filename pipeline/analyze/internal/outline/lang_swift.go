package outline

var swift = table{
	languages: "Swift",
	lexicon: lexicon{
		keywords: "as associatedtype break case catch class continue default defer deinit do else enum extension fallthrough false fileprivate for func guard if import in init inout internal is let nil operator precedencegroup private protocol public repeat rethrows return self static struct subscript super switch throw throws true try typealias var where while",
		soft:     "actor async await convenience didSet dynamic final get indirect infix lazy left mutating none nonmutating open optional override postfix prefix required right set some unowned weak willSet macro package",
		comments: []comment{slashSlash, nestedStar},
		strings: []quote{
			{open: `"""`, close: `"""`, escape: '\\', multiline: true, hole: `\(`, fence: '#'},
			{open: `"`, close: `"`, escape: '\\', hole: `\(`, fence: '#'},
			{open: "`", close: "`"},
		},
	},
	newlines: true, trailing: ",.=+-*/|&:?<>", continues: ". ? : = & -> where async throws rethrows",
	angles: true, quotes: "`", separators: ";",
	rules: []rule{
		{match: "class func|var", kind: "class", in: "none"},
		{match: "case @,", kind: "enumerator", in: "enum"},
		{match: "class @", kind: "class"},
		{match: "actor @ {", kind: "class"},
		{match: "actor @ :", kind: "class"},
		{match: "struct @", kind: "struct"},
		{match: "enum @", kind: "enum"},
		{match: "protocol @", kind: "protocol"},
		{match: "extension @*", kind: "extension"},
		{match: "typealias|associatedtype @", kind: "alias"},
		{match: "func @", kind: "function"},
		{match: "@=init|deinit|subscript", kind: "function", in: "type"},
		{match: "var|let @,", kind: "property", in: "type"},
		{match: "var @,", kind: "variable"},
		{match: "let @,", kind: "constant"},
		{match: "precedencegroup @", kind: "operator", body: bodySkip},
	},
}
