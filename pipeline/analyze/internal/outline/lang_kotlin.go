package outline

import "slices"

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
	newlines: true, trailing: ",.=+-*/|&:<", continues: ". ? : = where",
	angles: true, quotes: "`", nested: kotlinNested, resumes: beginsConstructor,
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

// maxModifiers bounds the tokens before the keyword of a class, and the annotations and
// modifiers before its constructor.
const maxModifiers = 16

// beginsConstructor reports whether t, the first token of a line, begins the primary
// constructor of the class whose name, or an annotation of its constructor, ends the
// statement. Annotations and modifiers may be before it.
func beginsConstructor(p *tableParser, t token) bool {
	if !t.isPunct('@') && t.kind != tokWord {
		return false
	}
	isText := func(t token, text string) bool { return string(p.tokenText(t)) == text }
	class := slices.IndexFunc(p.stmt[:min(len(p.stmt), maxModifiers)], func(t token) bool { return isText(t, "class") })
	if class < 0 || class+1 == len(p.stmt) {
		return false
	}
	head := p.stmt[class+2:] // after the name
	if len(head) > 0 && (head[0].isGroup('(') || head[0].isPunct(':')) || slices.ContainsFunc(head, func(t token) bool { return isText(t, "constructor") }) {
		return false
	}
	ahead := p.scanner
	for range maxModifiers {
		if t.isPunct('@') {
			ahead.next()
			for ahead.peekByte(0) == '.' || ahead.peekByte(0) == ':' {
				ahead.next()
				ahead.next()
			}
			if ahead.peekByte(0) == '(' {
				ahead.groupToken(ahead.next())
			}
		} else {
			switch string(p.tokenText(t)) {
			case "constructor":
				return true
			case "actual", "expect", "internal", "private", "protected", "public":
			default:
				return false
			}
		}
		t = ahead.next()
	}
	return false
}
