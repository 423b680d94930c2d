package outline

var powershell = table{
	languages: "PowerShell",
	lexicon: lexicon{
		letters: "-", fold: true,
		keywords: "begin break catch class continue data do dynamicparam else elseif end enum exit filter finally for foreach from function hidden if in param process return static switch throw trap try until using var while workflow",
		comments: []comment{{open: "<#", close: "#>"}, {open: "#", apart: true}},
		strings: []quote{
			{open: "@\"\n", close: "\n\"@", multiline: true},
			{open: "@'\n", close: "\n'@", multiline: true},
			{open: "@\"\r\n", close: "\n\"@", multiline: true},
			{open: "@'\r\n", close: "\n'@", multiline: true},
			{open: `"`, close: `"`, escape: '`', doubled: true, multiline: true, hole: "$("},
			{open: "'", close: "'", doubled: true, multiline: true},
		},
	},
	newlines: true, trailing: ",|=`", path: ":",
	rules: []rule{
		{match: "function|filter|workflow @.", kind: "function", body: bodyEnter, owner: ownerNone},
		{match: "class @", kind: "class"},
		{match: "enum @", kind: "enum"},
		{match: "^ @ () : base () {", kind: "method", in: "class", body: bodySkip},
		{match: "^ ... @ () {", kind: "method", in: "class", body: bodySkip},
		{match: "^ ... \\$ @", kind: "property", in: "class"},
		{match: "^ @", kind: "enumerator", in: "enum"},
		{match: "^ \\$ @ =", kind: "variable", in: "file"},
	},
	descend: true, locals: true,
}
