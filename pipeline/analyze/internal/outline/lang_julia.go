package outline

var julia = table{
	languages: "Julia",
	lexicon: lexicon{
		suffixes: "!",
		keywords: "abstract baremodule begin break catch const continue do else elseif end export false finally for function global if import let local macro module quote return struct true try using while",
		soft:     "mutable primitive type where in isa",
		comments: []comment{{open: "#=", close: "=#", nested: true}, hash},
		strings: []quote{
			{open: `"""`, close: `"""`, escape: '\\', multiline: true, hole: "$("},
			{open: `"`, close: `"`, escape: '\\', multiline: true, hole: "$("},
			charQuoted,
			{open: "`", close: "`", escape: '\\', multiline: true},
		},
	},
	blocks: blockWords, opens: "function macro struct module baremodule abstract primitive begin do for if let quote try while", closes: "end",
	newlines: true, trailing: ",=+-*|&", notAfter: ".:@", locals: true,
	rules: []rule{
		{match: "module|baremodule @", kind: "module"},
		{match: "struct @", kind: "struct"},
		{match: "abstract type @", kind: "type"},
		{match: "primitive type @", kind: "type"},
		{match: "function @. {}? ()", kind: "function", owner: "module"},
		{match: "function @ $", kind: "function"},
		{match: "macro @ ()", kind: "macro"},
		{match: "const @ : :", kind: "field", in: "struct"},
		{match: "const @ {} =", kind: "constant"},
		{match: "const @,= =", kind: "constant"},
		{match: "const (@,) =", kind: "constant"},
		{match: "^ @. {}? () where ... =", kind: "function", body: bodyNone, owner: "module"},
		{match: "^ @. {}? () =", kind: "function", body: bodyNone, owner: "module"},
		{match: "^ @. {}? () : : . =", kind: "function", body: bodyNone, owner: "module"},
		{match: "^ @ : :", kind: "field", in: "struct"},
		{match: "^ @ $", kind: "field", in: "struct"},
	},
}
