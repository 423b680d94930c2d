package outline

var erlang = table{
	languages: "Erlang",
	lexicon: lexicon{
		letters:  "@",
		keywords: "after and andalso band begin bnot bor bsl bsr bxor case catch cond div end fun if let maybe not of or orelse receive rem try when xor",
		soft:     "define export include include_lib module record spec type opaque nominal callback",
		comments: []comment{percent},
		strings: []quote{
			longDouble, singleQuoted,
			{open: "$", close: "", escape: '\\', char: true},
		},
	},
	blocks: blockNone, separators: ".", quotes: "'", flat: "([{",
	rules: []rule{
		{match: "^ - module ( @", kind: "module", body: bodySection, level: 1},
		{match: "^ - record ( @", kind: "record", body: bodyNone},
		{match: "^ - define ( @", kind: "macro"},
		{match: "^ - type|opaque|nominal @", kind: "type", body: bodyNone},
		{match: "^ - callback @", kind: "callback", body: bodyNone},
		{match: "^ @ (", kind: "function", column: 1, once: true},
	},
}
