package outline

var rlang = table{
	languages: "R",
	lexicon: lexicon{
		letters:  ".",
		keywords: "break else FALSE for function if in Inf NA NaN next NULL repeat return TRUE while",
		comments: []comment{hash},
		strings: []quote{
			{open: `"(`, close: `)"`, prefix: "r", multiline: true},
			{open: `"(`, close: `)"`, prefix: "R", multiline: true},
			longDouble, longSingle, {open: "`", close: "`", escape: '\\'},
		},
	},
	newlines: true, trailing: ",=-+*/|&~<%", quotes: "`\"'", descend: true, locals: true,
	rules: []rule{
		{match: "^ @ < - ... function ()", kind: "function", body: bodyEnter},
		{match: "^ @ < < - ... function ()", kind: "function", body: bodyEnter},
		{match: "^ @ = function ()", kind: "function", body: bodyEnter},
		{match: "^ @ < - \\\\ ()", kind: "function", body: bodyEnter},
		{match: "^ @ = \\\\ ()", kind: "function", body: bodyEnter},
		{match: "^ @ < -", kind: "variable", in: "file"},
		{match: "^ @ =", kind: "variable", in: "file"},
	},
}
