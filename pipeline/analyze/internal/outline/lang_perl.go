package outline

var perl = table{
	languages: "Perl",
	lexicon: lexicon{
		heredocs: true, slashes: true, quoteWords: "q qq qw qr m s tr y",
		keywords: "and cmp continue do else elsif eq for foreach ge given gt if last le local lt my ne next no not or our package redo require return state sub unless until use when while xor",
		soft:     "class field method BEGIN END INIT CHECK die warn print push shift bless defined undef ref keys values each map grep sort join split",
		comments: []comment{{open: "#", apart: true}, {open: "=", close: "\n=cut", column: 1}},
		strings:  []quote{longDouble, longSingle},
	},
	flat: "([", path: ":'", descend: true, locals: true, notAfter: "$@%&>",
	rules: []rule{
		{match: "^ package @* 0? {", kind: "package"},
		{match: "^ class @* ... {", kind: "class"},
		{match: "^ class @* ... $;", kind: "class", body: bodySection, level: 1},
		{match: "^ my? method @", kind: "method", in: "class"},
		{match: "^ field . @", kind: "field", in: "class"},
		{match: "^ package @*", kind: "package", body: bodySection, level: 1},
		{match: "sub @.", kind: "subroutine", owner: "package"},
		{match: "^ use constant @ = >", kind: "constant"},
		{match: "^ use constant {", kind: "constants", body: bodyItems, items: "constant"},
		{match: "^ our \\$ @", kind: "variable"},
		{match: "^ our \\@ @", kind: "variable"},
		{match: "^ our % @", kind: "variable"},
	},
}
