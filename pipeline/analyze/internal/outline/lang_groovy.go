package outline

var groovy = table{
	languages: "Groovy, Gradle",
	lexicon: lexicon{
		letters:  "$",
		keywords: "abstract as assert boolean break byte case catch char class const continue def default do double else enum extends false final finally float for goto if implements import in instanceof int interface long native new null package private protected public return short static strictfp super switch synchronized this throw throws transient true try void volatile while",
		soft:     "trait var record sealed",
		comments: []comment{slashSlash, slashStar, {open: "#!", column: 1}},
		strings: []quote{
			{open: `"""`, close: `"""`, escape: '\\', multiline: true, hole: "${"},
			{open: "'''", close: "'''", escape: '\\', multiline: true},
			{open: `"`, close: `"`, escape: '\\', hole: "${"},
			singleQuoted,
			{open: "$/", close: "/$", multiline: true},
		},
	},
	newlines: true, trailing: ",.=+-*|&:?(", continues: ". ? : throws implements extends",
	angles: true, quotes: `"'`,
	rules: []rule{
		{match: "package @*", kind: "package", in: "file"},
		{match: "^ import", body: bodyNone},
		{match: `\@ interface @`, kind: "annotation"},
		{match: "class @", kind: "class"},
		{match: "interface @", kind: "interface"},
		{match: "trait @", kind: "trait"},
		{match: "record @ ()", kind: "class", fields: "*=field"},
		{match: "def (@,) =", kind: "variable", in: "file"},
		{match: "enum @", kind: "enum", body: bodyItems, items: "enumerator"},
	},
	functions: "function", variables: "variable", prototypes: true,
}
