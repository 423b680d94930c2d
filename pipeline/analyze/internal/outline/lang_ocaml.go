package outline

var ocaml = table{
	languages: "OCaml",
	lexicon: lexicon{
		suffixes: "'",
		keywords: "and as assert begin class constraint do done downto else end exception external false for fun function functor if in include inherit initializer lazy let match method module mutable new nonrec object of open or private rec sig struct then to true try type val virtual when while with",
		comments: []comment{{open: "(*", close: "*)", nested: true}},
		strings: []quote{
			longDouble,
			{open: "'", close: "'", escape: '\\', char: true, apart: true},
			{open: "{|", close: "|}", multiline: true},
		},
	},
	blocks: blockIndent, newlines: true,
	rules: []rule{
		{match: "^ module type @", kind: "interface"},
		{match: "^ module rec? @", kind: "module"},
		{match: "^ class virtual|type? []? @", kind: "class"},
		{match: "^ type ... + =", body: bodyNone}, // an extension of a type
		{match: "^ type nonrec? ()? @", kind: "type", body: bodyNone},
		{match: "^ type nonrec? !? +? -? ' . @", kind: "type", body: bodyNone},
		{match: "^ exception @", kind: "exception", body: bodyNone},
		{match: "^ external @", kind: "function", body: bodyNone},
		{match: "^ val @", kind: "variable"},
		{match: "^ method private|virtual? @", kind: "method"},
		{match: "^ let rec? @ = fun|function", kind: "function"},
		{match: "^ let rec? @ =", kind: "variable", body: bodySkip},
		{match: "^ let rec? @ :", kind: "variable", body: bodySkip},
		{match: "^ let rec? @", kind: "function"},
		{match: "^ and +? -? ' . @", kind: "type", again: true, body: bodyNone},
		{match: "^ and ()? @", kind: "function", again: true},
	},
}
