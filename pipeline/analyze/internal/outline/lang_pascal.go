package outline

var pascal = table{
	languages: "Pascal",
	lexicon: lexicon{
		fold:     true,
		keywords: "and array as asm begin case class const constructor destructor div do downto else end except exports file finalization finally for function goto if implementation in inherited initialization inline interface is label library mod nil not object of operator or out packed procedure program property raise record repeat resourcestring set shl shr then threadvar to try type unit until uses var while with xor",
		soft:     "absolute abstract cdecl default dynamic external forward generic message name overload override private protected public published read reintroduce specialize static stdcall stored strict virtual write",
		comments: []comment{slashSlash, {open: "{", close: "}"}, {open: "(*", close: "*)"}},
		strings:  []quote{doubledSingle},
	},
	angles: true,
	blocks: blockWords, opens: "begin case try asm ^repeat", closes: "end until",
	locals: true,
	rules: []rule{
		{match: "^ unit @*", kind: "module", body: bodySection, level: 1},
		{match: "^ program|library @", kind: "program", body: bodySection, level: 1},
		{match: "function|procedure @. ", kind: "function", owner: "class", body: bodyNone},
		{match: "constructor|destructor @. ", kind: "function", owner: "class", body: bodyNone},
		{match: "^ type? generic? @ <>? = packed? class of", kind: "type", body: bodyNone},
		{match: "^ type? generic? @ <>? = packed? class|object|interface ()? $", kind: "class", body: bodyNone},
		{match: "^ type? generic? @ <>? = packed? class|object|interface", kind: "class", opens: true},
		{match: "^ type? @ <>? = packed? record", kind: "struct", opens: true},
	},
}
