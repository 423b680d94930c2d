package outline

var scala = table{
	languages: "Scala",
	lexicon: lexicon{
		letters:  "$",
		keywords: "abstract case catch class def do else extends false final finally for forSome if implicit import lazy match new null object override package private protected return sealed super this throw trait true try type val var while with yield",
		soft:     "as derives end enum export extension given infix inline opaque open then transparent using",
		comments: []comment{slashSlash, nestedStar},
		strings: []quote{
			{open: `"""`, close: `"""`, multiline: true},
			{open: `"`, close: `"`, escape: '\\', hole: "${"},
			charQuoted,
			{open: "`", close: "`"},
		},
	},
	newlines: true, trailing: ",.=+-*/|&:", continues: ". = : with extends",
	quotes: "`", offside: true,
	rules: []rule{
		{match: "package object @", kind: "object"},
		{match: "package @*", kind: "package", in: "file"},
		{match: "case class @", kind: "class", fields: "val=constant var=variable *=constant"},
		{match: "case object @", kind: "object"},
		{match: "case @,", kind: "enumerator", in: "enum"},
		{match: "class @", kind: "class", fields: "val=constant var=variable"},
		{match: "trait @", kind: "trait", fields: "val=constant var=variable"},
		{match: "object @", kind: "object"},
		{match: "enum @", kind: "enum", fields: "val=constant var=variable"},
		{match: "type @", kind: "alias"},
		{match: "given @ :", kind: "constant"},
		{match: "def @", kind: "function"},
		{match: "val @ (@,) =", kind: "constant"}, // the names in a pattern
		{match: "val @,", kind: "constant"},
		{match: "var @,", kind: "variable"},
		{match: "val (@,) =", kind: "constant"},
		{match: "var (@,) =", kind: "variable"},
	},
}
