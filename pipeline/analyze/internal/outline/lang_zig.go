package outline

var zig = table{
	languages: "Zig",
	lexicon: lexicon{
		keywords: "addrspace align allowzero and anyframe anytype asm async await break callconv catch comptime const continue defer else enum errdefer error export extern false fn for if inline linksection noalias nosuspend null opaque or orelse packed pub resume return struct suspend switch test threadlocal true try undefined union unreachable usingnamespace var volatile while",
		comments: []comment{slashSlash},
		strings: []quote{
			doubleQuoted, charQuoted,
			{open: `\\`, close: "\n"}, // one line of a multi-line string
		},
	},
	separators: ";,",
	rules: []rule{
		{match: "^ pub|export|extern? const @ = extern|packed? struct ()? {", kind: "struct"},
		{match: "^ pub|export|extern? const @ = extern|packed? enum ()? {", kind: "enum"},
		{match: "^ pub|export|extern? const @ = extern|packed? union ()? {", kind: "union"},
		{match: "^ pub|export|extern? const @ = opaque {", kind: "struct"},
		{match: "^ pub|export|extern? const @ = error {", kind: "enum"},
		{match: "fn @ ()", kind: "function"},
		{match: `test @" {`, kind: "test", body: bodySkip},
		{match: "^ pub|export|extern? const @", kind: "constant"},
		{match: "^ pub|export|extern|threadlocal|comptime? var @", kind: "variable"},
		{match: "^ comptime? @ :", kind: "field", in: "struct union"},
		{match: "^ @ ", kind: "enumerator", in: "enum"},
		{match: "^ @ $", kind: "field", in: "union"},
	},
}
