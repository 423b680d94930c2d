package outline

var nix = table{
	languages: "Nix",
	lexicon: lexicon{
		letters: "-", suffixes: "'",
		keywords: "assert else if in inherit let or rec then with",
		soft:     "builtins false import null true throw abort",
		comments: []comment{hash, slashStar},
		strings: []quote{
			{open: "''", close: "''", multiline: true, hole: "${"},
			{open: `"`, close: `"`, escape: '\\', multiline: true, hole: "${"},
		},
	},
	flat: "(", descend: true, locals: true, quotes: `"`, separators: ";:",
	rules: []rule{
		{match: "^ in|let|rec ... @* = {", kind: "attribute", body: bodyEnter},
		{match: "^ let @* =", kind: "attribute", body: bodyNone},
		{match: "^ @* = ... {", kind: "attribute", body: bodyEnter},
		{match: "^ @* = . $:", kind: "function", body: bodyNone},
		{match: "^ @* =", kind: "attribute", body: bodyNone},
	},
}
