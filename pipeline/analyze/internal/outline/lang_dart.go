package outline

var dart = table{
	languages: "Dart",
	lexicon: lexicon{
		letters:  "$",
		keywords: "assert await break case catch class const continue default do else enum extends false final finally for if in is new null rethrow return super switch this throw true try var void while with yield",
		soft:     "abstract as async base covariant deferred dynamic export extension external factory Function get implements import interface late library mixin on operator part required sealed set show static typedef when",
		comments: []comment{slashSlash, nestedStar},
		strings: []quote{
			{open: `"""`, close: `"""`, prefix: "r", multiline: true},
			{open: "'''", close: "'''", prefix: "r", multiline: true},
			{open: `"`, close: `"`, prefix: "r"},
			{open: "'", close: "'", prefix: "r"},
			{open: `"""`, close: `"""`, escape: '\\', multiline: true, hole: "${"},
			{open: "'''", close: "'''", escape: '\\', multiline: true, hole: "${"},
			{open: `"`, close: `"`, escape: '\\', hole: "${"},
			{open: "'", close: "'", escape: '\\', hole: "${"},
		},
	},
	angles: true,
	rules: []rule{
		{match: "library @*", kind: "package", in: "file"},
		{match: "mixin class @", kind: "class"},
		{match: "class @ =", kind: "class", body: bodyNone},
		{match: "class @", kind: "class", fields: "var=field final=field"},
		{match: "mixin @", kind: "mixin", in: "file"},
		{match: "extension type const? @", kind: "extension", in: "file", fields: "*=field"},
		{match: "extension @ <>? on", kind: "extension", in: "file"},
		{match: "extension on @", kind: "extension", in: "file"},
		{match: "enum @", kind: "enum", body: bodyItems, items: "enumerator"},
		{match: "typedef @ <>? =", kind: "typedef", in: "file"},
		{match: "typedef ... @ <>? () $", kind: "typedef", in: "file"},
		{match: "factory @. ()", kind: "method", in: "type", owner: "class"},
		{match: "get|set @", kind: "function"},
		{match: "operator", body: bodySkip, in: "type"},
	},
	functions: "function", variables: "variable", prototypes: true,
}
