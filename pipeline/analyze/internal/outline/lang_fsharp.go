package outline

var fsharp = table{
	languages: "F#",
	lexicon: lexicon{
		suffixes: "'",
		keywords: "abstract and as assert base begin class default delegate do done downcast downto elif else end exception extern false finally fixed for fun function global if in inherit inline interface internal lazy let match member module mutable namespace new null of open or override private public rec return static struct then to true try type upcast use val void when while with yield",
		comments: []comment{slashSlash, {open: "(*", close: "*)", nested: true}},
		strings: []quote{
			{open: `"""`, close: `"""`, multiline: true},
			{open: `@"`, close: `"`, multiline: true, doubled: true},
			longDouble,
			{open: "'", close: "'", escape: '\\', char: true, apart: true},
			{open: "``", close: "``"},
		},
	},
	angles: true, quotes: "`",
	blocks: blockIndent, newlines: true,
	rules: []rule{
		{match: "^ namespace rec? @*", kind: "namespace", body: bodySection, level: 1},
		{match: "^ module rec|private|internal|public? @* =", kind: "module"},
		{match: "^ module rec|private|internal|public? @*", kind: "module", body: bodySection, level: 2},
		{match: "^ type private|internal|public? @ <>? =", kind: "type"},
		{match: "^ type private|internal|public? @", kind: "type"},
		{match: "^ and private|internal|public? @ <>? =", kind: "type"},
		{match: "^ exception @", kind: "exception"},
		{match: "^ member val @", kind: "property"},
		{match: "^ static member val @", kind: "property"},
		{match: "^ static|override|default|abstract? member inline|private|internal? . \\. @", kind: "method"},
		{match: "^ static|override|default|abstract? member inline|private|internal? @", kind: "method"},
		{match: "^ override|default . \\. @", kind: "method"},
		{match: "^ abstract @ :", kind: "method"},
		{match: "^ let rec|inline|mutable|private|internal|public? inline? @ =", kind: "variable", body: bodyEnter},
		{match: "^ let rec|inline|mutable|private|internal|public? inline? @ :", kind: "variable", body: bodyEnter},
		{match: "^ let rec|inline|mutable|private|internal|public? inline? @", kind: "function"},
		{match: "^ and @", kind: "function", again: true},
		{match: "^ \\| @", kind: "enumerator", in: "type", body: bodyNone},
	},
}
