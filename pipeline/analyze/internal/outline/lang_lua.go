package outline

var lua = table{
	languages: "Lua",
	lexicon: lexicon{
		keywords: "and break do else elseif end false for function goto if in local nil not or repeat return then true until while",
		comments: []comment{{open: "--[[", close: "]]"}, {open: "--[=[", close: "]=]"}, {open: "--[==[", close: "]==]"}, dashDash},
		strings: []quote{
			{open: "[[", close: "]]", multiline: true, fence: '=', fenceInside: true},
			doubleQuoted, singleQuoted,
		},
	},
	blocks: blockWords, opens: "function do then repeat", closes: "end until elseif",
	newlines: true, flat: "([{", path: ".:", locals: true,
	rules: []rule{
		{match: "function @. (", kind: "function", owner: "table"},
		{match: "^ local? @. = function", kind: "function", owner: "table", body: bodyNone},
		{match: "^ @ = function", kind: "function", body: bodyNone},
		{match: "^ local? @,= =", kind: "variable", in: "file", imports: "require"},
	},
}
