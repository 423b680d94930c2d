package outline

var vhdl = table{
	languages: "VHDL",
	lexicon: lexicon{
		fold:     true,
		keywords: "abs access after alias all and architecture array assert attribute begin block body buffer bus case component configuration constant disconnect downto else elsif end entity exit file for function generate generic group guarded if impure in inertial inout is label library linkage literal loop map mod nand new next nor not null of on open or others out package port postponed procedure process protected pure range record register reject rem report return rol ror select severity shared signal sla sll sra srl subtype then to transport type unaffected units until use variable wait when while with xnor xor",
		comments: []comment{dashDash, slashStar},
		strings:  []quote{{open: `"`, close: `"`, doubled: true}, charQuoted, {open: `\`, close: `\`}},
	},
	blocks: blockWords, opens: "=entity =architecture =package =configuration =function =procedure process block generate case loop ^if component record protected units", closes: "end",
	endNames: true, terminators: "is begin then else loop generate", locals: true,
	rules: []rule{
		{match: "^ entity @ is", kind: "entity", opens: true},
		{match: "^ architecture @ of", kind: "architecture", opens: true},
		{match: "^ package body @ is", kind: "packageBody", opens: true},
		{match: "^ package @ is", kind: "package", opens: true},
		{match: "^ configuration @", kind: "configuration", opens: true},
		{match: "^ pure|impure? function @\" ... is", kind: "function", opens: true},
		{match: "^ pure|impure? function @\"", kind: "prototype"},
		{match: "^ procedure @ ... is", kind: "procedure", opens: true},
		{match: "^ procedure @", kind: "prototype"},
		{match: "^ component @", kind: "component", body: bodyEnter},
		{match: "^ type @", kind: "type", body: bodyEnter},
		{match: "^ subtype @", kind: "subtype", body: bodyNone},
		{match: "^ constant @,", kind: "constant"},
		{match: "^ signal @,", kind: "signal"},
		{match: "^ shared? variable @,", kind: "variable"},
		{match: "^ alias @", kind: "alias", body: bodyNone},
		{match: "^ @ : process", kind: "process"},
		{match: "^ @ : if|case ... generate", opens: true, body: bodyPlain}, // one block, not two
		{match: "^ elsif ... generate", body: bodyPlain},
		{match: "^ generate", body: bodyPlain}, // else generate
	},
}
