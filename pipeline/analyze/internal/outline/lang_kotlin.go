package outline

var kotlin = table{
	languages: "Kotlin, Gradle Kotlin DSL",
	lexicon: lexicon{
		keywords: "as break class continue do else false for fun if in interface is null object package return super this throw true try typealias typeof val var when while",
		soft:     "abstract actual annotation by catch companion const constructor crossinline data enum expect external final finally import infix init inline inner internal lateinit noinline open operator out override private protected public reified sealed suspend tailrec vararg where get set",
		comments: []comment{slashSlash, nestedStar},
		strings: []quote{
			{open: `"""`, close: `"""`, multiline: true, hole: "${"},
			{open: `"`, close: `"`, escape: '\\', hole: "${"},
			charQuoted,
			{open: "`", close: "`"},
		},
	},
	newlines: true, trailing: ",.=+-*/|&:?<", continues: ". ? : = where",
	angles: true, quotes: "`", nested: kotlinNested,
	rules: []rule{
		{match: "package @*", kind: "package", in: "file"},
		{match: "annotation class @", kind: "annotation", fields: "val var"},
		{match: "enum class @", fields: "val var", kind: "enum", body: bodyItems, items: "enumerator"},
		{match: "interface @", kind: "interface"},
		{match: "class @", kind: "class", fields: "val var"},
		{match: "companion object {", kind: "object"},
		{match: "companion object : ... {", kind: "object"},
		{match: "object @", kind: "object"},
		{match: "typealias @", kind: "alias"},
		{match: "fun ... @ ()", kind: "function"},
		{match: "val|var <>? . <> \\. @", kind: "property"},
		{match: "val|var <>? . ? \\. @", kind: "property"},
		{match: "val|var (@,) =", kind: "property", in: "file"}, // in scripts
		{match: "val|var <>? @.", kind: "property", owner: ownerNone},
	},
}
