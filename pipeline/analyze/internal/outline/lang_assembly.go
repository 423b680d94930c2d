package outline

var assembly = table{
	languages: "Unix Assembly, Assembly",
	lexicon: lexicon{
		letters: ".$?", directives: true,
		comments: []comment{slashSlash, slashStar, semicolon},
		strings:  []quote{doubleQuoted},
	},
	blocks: blockNone, newlines: true, flat: "([{",
	rules: []rule{
		{match: "^ .macro @", kind: "macro"},
		{match: "^ .set|.equ|.equiv @ ,", kind: "constant"},
		{match: "^ @ : =", body: bodyPlain},
		{match: "^ @ :", kind: "label"},
		{match: "^ @ equ|EQU", kind: "constant"},
		{match: "^ @ = ", kind: "constant", column: 1},
		{match: "^ @ macro|MACRO", kind: "macro"},
		{match: "^ @ proc|PROC", kind: "label"},
		{match: "^ TEXT @ (", kind: "function"},
	},
}

var cobol = table{
	languages: "COBOL",
	lexicon: lexicon{
		letters: "-", fold: true,
		soft:     "accept add call close compute copy data display division else end-evaluate end-if end-perform end-read environment evaluate exit fd file identification if input-output linkage move multiply occurs open perform pic picture procedure program-id read redefines run section select stop string subtract to until value varying when working-storage write",
		comments: []comment{{open: "*>"}, {open: "*", column: 7}, {open: "/", column: 7}},
		strings:  []quote{doubledDouble, doubledSingle},
	},
	blocks: blockNone, newlines: true, separators: "\x00", flat: "([{",
	rules: []rule{
		{match: "^ program-id \\. @\"", kind: "program", body: bodySection, level: 1},
		{match: "^ @ section \\.", kind: "section", column: 8},
		{match: "^ @ \\. $", kind: "paragraph", column: 8},
	},
}
