package outline

// maxKeyDepth bounds the depth to which keys of data are symbols. Deeper levels are the
// data itself, which may be any amount.
const maxKeyDepth = 3

var ini = table{
	languages: "INI",
	lexicon: lexicon{
		letters:  "-.",
		comments: []comment{{open: ";", first: true}, {open: "#", first: true}},
	},
	blocks: blockNone, newlines: true, flat: "([{", separators: "\x00",
	rules: []rule{
		{match: "^ [ @~ ]", kind: "section", body: bodySection, level: 1},
		{match: "^ @~ =", kind: "key"},
	},
}

var toml = table{
	languages: "TOML",
	lexicon: lexicon{
		letters:  "-",
		soft:     "true false inf nan",
		comments: []comment{hash},
		strings: []quote{
			{open: `"""`, close: `"""`, escape: '\\', multiline: true},
			{open: "'''", close: "'''", multiline: true},
			doubleQuoted, {open: "'", close: "'"},
		},
	},
	blocks: blockNone, newlines: true, flat: "[", quotes: `"'`, separators: "\x00",
	rules: []rule{
		{match: "^ [ [ @* ] ]", kind: "table", body: bodySection, level: 1},
		{match: "^ [ @* ]", kind: "table", body: bodySection, level: 1},
		{match: "^ @* =", kind: "key"},
	},
}

var yaml = table{
	languages: "YAML",
	lexicon: lexicon{
		letters:  "-./$@*+",
		soft:     "true false null yes no on off",
		comments: []comment{{open: "#", apart: true}},
		strings: []quote{
			{open: `"`, close: `"`, escape: '\\', multiline: true, apart: true},
			{open: "'", close: "'", doubled: true, multiline: true, apart: true},
		},
	},
	blocks: blockIndent, newlines: true, quotes: `"'`, separators: "\x00", textMarks: "|>", locals: true, flat: "(", maxDepth: maxKeyDepth,
	rules: []rule{
		{match: `^ @" :`, kind: "key", body: bodyEnter},
	},
}

var jsonData = table{
	languages: "JSON, JSON with Comments, JSON5",
	lexicon: lexicon{
		letters:  "$-",
		soft:     "true false null",
		comments: []comment{slashSlash, slashStar},
		strings:  []quote{doubleQuoted, singleQuoted},
	},
	separators: ",", descend: true, quotes: `"'`, maxDepth: maxKeyDepth,
	rules: []rule{
		{match: "^ @ : {", kind: "key", body: bodyEnter},
		{match: "^ @ :", kind: "key", body: bodyNone},
	},
}
