package names

import (
	"slices"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Members returns the tokens at which a type that f defines has a member of the given
// name, most relevant first.
func (f *File) Members(d *code.Definition, name string) []int {
	var out []int
	if f.d.typeFirst && name == d.Name {
		return nil // its constructors
	}
	inside := f.bodyEnd(d)
	for k := range f.Definitions {
		m := &f.Definitions[k]
		if m.Name != name || m.Parent != d.Name || m.Offset == d.Offset {
			continue
		}
		if i := f.tokenOf(m); i >= 0 && (inside == 0 || m.Offset > d.Offset && int(m.Offset) < inside || f.d.typeNext || f.d.bars || f.d.arrowMember) {
			out = append(out, i)
		}
	}
	if len(out) > 0 {
		return out
	}
	if f.d.embeds {
		for _, heir := range f.Heirs(d) {
			if heir.Name == name {
				out = append(out, heir.At)
			}
		}
		return out
	}
	i := f.tokenOf(d)
	if i < 0 {
		return nil
	}
	at := f.skipAngles(i + 1)
	switch {
	case f.is(at, "(") && f.d.typeFirst: // a record
		for k := at + 1; k < f.pairOf(at); k++ {
			if f.is(k, name) && (f.is(k+1, ",") || f.is(k+1, ")")) {
				return []int{k}
			}
		}
	case f.d.selfParameter, f.d.annotation == ":" && f.d.sets.self["this"]:
		out = f.assignedMembers(i, name)
	}
	if f.is(at, "=") && f.d.annotation == ":" { // type T = A & { … }, const x = { … }
		for k := at + 1; k < len(f.tokens) && k < at+maxHead && !f.is(k, ";"); k++ {
			if f.is(k, "{") {
				out = append(out, f.BodyMembers(k, name)...)
			}
			if f.pairOf(k) < k { // the end of the enclosing block
				break
			}
			if k = f.pairOf(k); f.startsLine(k+1) && f.isWord(k+1) && (declaring[f.word(k+1)] || f.is(k+1, "export") || f.is(k+1, "const")) {
				break
			}
		}
	}
	if f.is(at, ":") && f.is(at+1, "{") {
		out = append(out, f.BodyMembers(at+1, name)...)
	}
	return out
}

// assignedMembers returns the positions of "self.name =" and of parameters that are
// properties, in the class whose name is token i.
func (f *File) assignedMembers(i int, name string) (out []int) {
	end := len(f.tokens)
	if f.d.indented {
		end = f.blockEnd(i)
	} else {
		for k := i; k < len(f.tokens) && k < i+maxHead; k++ {
			if f.is(k, "{") {
				end = f.pairOf(k)
				break
			}
		}
	}
	for k := i + 1; k < end; k++ {
		if !f.is(k, name) {
			continue
		}
		switch {
		case f.isMemberDot(k-1) && (f.is(k-2, "self") || f.is(k-2, "this") || f.is(k-2, "cls")) && (f.is(k+1, "=") || (f.is(k+1, ":") || f.is(k+1, ",")) && f.tokens[k-2].newline):
			out = append(out, k)
		case f.isWord(k-1) && slices.Contains([]string{"private", "public", "protected", "readonly"}, f.word(k-1)):
			out = append(out, k)
		}
		if len(out) >= maxDepth {
			break
		}
	}
	return out
}

// BodyMembers returns the tokens of the members of that name in the braces that begin at
// token i: name: T, name(…), name = …, and in Go name T.
func (f *File) BodyMembers(i int, name string) (out []int) {
	end := f.pairOf(i)
	for k := i + 1; k < end; k++ {
		if int(f.tokens[k].around) == i && f.is(k, name) && !f.isMemberDot(k-1) {
			if f.is(k-1, ":") || f.is(k-1, "=>") || f.is(k-1, "=") {
				continue
			}
			out = append(out, k)
		}
		if f.is(k, "(") || f.is(k, "[") || f.is(k, "{") {
			k = f.pairOf(k)
		}
	}
	return out
}

// Heirs returns the types that a type extends, implements or embeds.
func (f *File) Heirs(d *code.Definition) (out []Type) {
	i := f.tokenOf(d)
	if i < 0 {
		return nil
	}
	at := f.skipAngles(i + 1)
	if f.d.typeNext && f.is(at, "[") {
		at = f.pairOf(at) + 1
	}
	switch {
	case f.d.heirGroup && f.is(at, "["):
		at = f.pairOf(at) + 1
		fallthrough
	case f.d.heirGroup:
		if !f.is(at, "(") {
			return nil
		}
		for k := at + 1; k < f.pairOf(at) && len(out) < maxDepth; k = f.valueEnd(k, f.pairOf(at)) + 1 {
			if f.isWord(k) && !f.is(k+1, "=") {
				out = append(out, f.ParseType(k))
			}
		}
		return out
	case f.d.embeds:
		return f.readEmbedded(at)
	case f.d.typeFirst && f.is(at, "="): // using T = A
		return []Type{f.ParseType(at + 1)}
	case f.d.annotation == ":" && f.is(at, "="): // type T = A & B
		for k := at + 1; len(out) < maxDepth; k++ {
			t, next := f.parseOneType(k, 0)
			if t.IsKnown() {
				out = append(out, t)
			}
			if next <= k || !f.is(next, "&") && !f.is(next, "|") {
				return out
			}
			k = next
		}
		return out
	}
	if f.is(at, "(") {
		at = f.pairOf(at) + 1
	}
	for k := at; k < len(f.tokens) && k < at+maxHead && len(out) < maxDepth; k++ {
		if f.is(k, "{") || f.is(k, ";") {
			break
		}
		if f.is(k, "(") { // arguments of a constructor
			k = f.pairOf(k)
			continue
		}
		if f.d.sets.heirs[f.word(k)] || f.is(k, ",") && len(out) > 0 {
			if t, next := f.parseOneType(k+1, 0); t.IsKnown() && !f.d.sets.heirs[t.Name] {
				out = append(out, t)
				k = next - 1
			}
		}
	}
	return out
}

// readEmbedded returns the types without a name in a Go struct or interface.
func (f *File) readEmbedded(at int) (out []Type) {
	if f.is(at, "=") {
		return []Type{f.ParseType(at + 1)}
	}
	if !f.is(at+1, "{") {
		if f.isName(at) { // type T U
			return []Type{f.ParseType(at)}
		}
		return nil
	}
	open := at + 1
	for k := open + 1; k < f.pairOf(open) && len(out) < maxDepth; k++ {
		if int(f.tokens[k].around) != open || !f.startsLine(k) && !f.is(k-1, ";") && k != open+1 {
			continue
		}
		name := k
		if f.is(name, "*") {
			name++
		}
		if !f.isName(name) || f.is(name+1, "(") {
			continue
		}
		if t, next := f.parseType(k, 0); f.startsLine(next) || f.is(next, ";") || f.is(next, "}") || f.isKind(next, kindString) {
			out = append(out, t)
		}
	}
	return out
}
