package names

import (
	"path"
	"strings"
)

// readModuleImports reads import, export from and require in TypeScript and JavaScript.
func readModuleImports(f *File) {
	for i := range f.tokens {
		switch {
		case (f.is(i, "import") || f.is(i, "export")) && f.tokens[i].around < 0 && !f.isMemberDot(i+1):
			f.readModuleImport(i)
		case f.is(i, "require") && f.is(i+1, "(") && f.isKind(i+2, kindString):
			f.readRequire(i)
		}
	}
}

func (f *File) readModuleImport(i int) {
	at := i + 1
	end := -1 // of the names
	for k := at; k < len(f.tokens) && k < at+8*maxElements; k++ {
		if f.is(k, "from") && f.isKind(k+1, kindString) {
			end = k
			break
		}
		if f.is(k, ";") || f.is(k, "=") || f.is(k, "(") || k > at && (f.is(k, "import") || f.is(k, "export")) {
			return
		}
		if f.is(k, "{") && f.is(i, "import") || f.is(k, "{") && k == at {
			k = f.pairOf(k)
		}
	}
	if end < 0 {
		return
	}
	module := f.unquote(end + 1)
	for k := at; k < end; k++ {
		switch {
		case f.is(k, "type") && k+1 < end && !f.is(k+1, ",") && !f.is(k+1, "}") && !f.is(k+1, "as"):
		case f.is(k, "*") && f.is(k+1, "as") && f.isWord(k+2):
			f.addImport(Import{Name: f.word(k + 2), At: k + 2, Module: module})
			k += 2
		case f.is(k, "*"):
			f.addImport(Import{Module: module, All: true})
		case f.isWord(k) && f.is(k+1, "as") && f.isWord(k+2):
			f.addImport(Import{Name: f.word(k + 2), At: k + 2, Module: module, Member: f.word(k)})
			k += 2
		case f.isWord(k) && k == at && f.is(i, "import"):
			f.addImport(Import{Name: f.word(k), At: k, Module: module, Member: "default"})
		case f.isWord(k):
			f.addImport(Import{Name: f.word(k), At: k, Module: module, Member: f.word(k)})
		}
	}
}

// readRequire reads const a = require("b") and const { c } = require("b").
func (f *File) readRequire(i int) {
	module := f.unquote(i + 2)
	if !f.is(i-1, "=") {
		return
	}
	if f.isName(i - 2) {
		f.addImport(Import{Name: f.word(i - 2), At: i - 2, Module: module})
		return
	}
	for k := f.pairOf(i-2) + 1; f.is(i-2, "}") && k < i-2; k++ {
		if f.isName(k) && !f.is(k+1, ":") {
			f.addImport(Import{Name: f.word(k), At: k, Module: module, Member: f.word(k)})
		}
	}
}

func placesOfModules(file string, i *Import) []Place {
	module := i.Module
	for _, extension := range []string{".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".vue", ".svelte"} {
		module = strings.TrimSuffix(module, extension)
	}
	if strings.HasPrefix(module, ".") {
		base := path.Join(path.Dir(file), module)
		if path.Base(base) == "index" {
			return []Place{{Path: base, Exact: true}, {Path: path.Dir(base), Directory: true, Below: true, Exact: true}}
		}
		return []Place{{Path: base, Exact: true}, {Path: path.Join(base, "index"), Exact: true}, {Path: base, Directory: true, Below: true, Exact: true}}
	}
	var out []Place
	rest := strings.TrimLeft(module, "@~#/")
	for n := 0; rest != "" && n < maxDepth; n++ {
		out = append(out, Place{Path: rest}, Place{Path: rest + "/index"}, Place{Path: rest + "/src/index"})
		slash := strings.IndexByte(rest, '/')
		if slash < 0 {
			break
		}
		rest = rest[slash+1:]
	}
	return append(out, Place{Path: rest, Directory: true, Below: true})
}

// readPythonImports reads import a.b as c, and from a import b as c.
func readPythonImports(f *File) {
	for i := range f.tokens {
		switch {
		case f.is(i, "from") && f.tokens[i].newline:
			f.readFrom(i)
		case f.is(i, "import") && f.tokens[i].newline:
			for at := i + 1; f.isWord(at); {
				module, next := f.readDotted(at)
				one := Import{Name: strings.SplitN(module, ".", 2)[0], At: at, Module: module}
				if f.is(next, "as") {
					one.Name, one.At = f.word(next+1), next+1
					next += 2
				} else {
					one.Module = one.Name
					if module != one.Name {
						f.addImport(Import{Module: module, Name: module})
					}
				}
				f.addImport(one)
				if !f.is(next, ",") {
					break
				}
				at = next + 1
			}
		}
	}
}

// readDotted returns the dotted name that begins at token i, and the next token.
func (f *File) readDotted(i int) (string, int) {
	start := i
	for (f.is(i, ".") || f.is(i, "...") || f.isWord(i) && !f.is(i, "import") && !f.is(i, "as")) && i < start+maxElements {
		if f.isWord(i) && f.isWord(i-1) && i > start {
			break
		}
		i++
	}
	if i == start {
		return "", i
	}
	return strings.ReplaceAll(string(f.Text[f.tokens[start].start:f.tokens[i-1].end]), " ", ""), i
}

func (f *File) readFrom(i int) {
	module, at := f.readDotted(i + 1)
	if !f.is(at, "import") {
		return
	}
	if at++; f.is(at, "(") {
		at++
	}
	for n := 0; n < 8*maxElements; n++ {
		switch {
		case f.is(at, "*"):
			f.addImport(Import{Module: module, All: true})
			return
		case !f.isWord(at):
			return
		}
		one := Import{Name: f.word(at), At: at, Module: module, Member: f.word(at)}
		if at++; f.is(at, "as") {
			one.Name, one.At = f.word(at+1), at+1
			at += 2
		}
		f.addImport(one)
		if !f.is(at, ",") {
			return
		}
		at++
	}
}

func placesOfPython(file string, i *Import) []Place {
	module := i.Module
	exact := strings.HasPrefix(module, ".")
	base := ""
	if exact {
		base = path.Dir(file)
		for module = module[1:]; strings.HasPrefix(module, "."); module = module[1:] {
			base = path.Dir(base)
		}
	}
	p := path.Join(base, strings.ReplaceAll(module, ".", "/"))
	out := []Place{{Path: p, Exact: exact}, {Path: path.Join(p, "__init__"), Exact: exact}}
	if i.Member != "" {
		out = append(out, Place{Path: path.Join(p, i.Member), Exact: exact}, Place{Path: path.Join(p, i.Member, "__init__"), Exact: exact})
	}
	return append(out, Place{Path: p, Directory: true, Below: true, Exact: exact})
}

// readUses reads use a::{b, c as d, e::*} in Rust.
func readUses(f *File) {
	for i := range f.tokens {
		if f.is(i, "use") && f.tokens[i].keyword {
			f.readUseTree(i+1, nil, 0)
		}
	}
}

func (f *File) readUseTree(i int, prefix []string, depth int) int {
	parts := prefix[:len(prefix):len(prefix)]
	for n := 0; n < maxElements && depth < maxDepth; n++ {
		switch {
		case f.is(i, "{"):
			end := f.pairOf(i)
			for k := i + 1; k < end; k++ {
				if next := f.readUseTree(k, parts, depth+1); next > k {
					k = next
				}
			}
			return end + 1
		case f.is(i, "*"):
			f.addImport(Import{Module: strings.Join(parts, "::"), All: true})
			return i + 1
		case f.is(i, "::"):
			i++
		case f.isWord(i):
			name := f.word(i)
			if f.is(i+1, "::") {
				parts = append(parts, name)
				i += 2
				continue
			}
			one := Import{Name: name, At: i, Module: strings.Join(parts, "::"), Member: name}
			if name == "self" && len(parts) > 0 {
				one.Name, one.Member, one.Module = parts[len(parts)-1], "", strings.Join(parts, "::")
			}
			if f.is(i+1, "as") {
				one.Name, one.At = f.word(i+2), i+2
				i += 2
			}
			f.addImport(one)
			return i + 1
		default:
			return i
		}
	}
	return i
}

func placesOfRust(file string, i *Import) []Place {
	parts := strings.Split(i.Module, "::")
	exactly := false
	base := ""
	var out []Place
	switch parts[0] {
	case "crate":
		if src := strings.LastIndex("/"+file, "/src/"); src >= 0 {
			base, exactly = file[:src+3], true
		}
		parts = parts[1:]
	case "self":
		base, exactly = strings.TrimSuffix(strings.TrimSuffix(file, ".rs"), "/mod"), true
		parts = parts[1:]
	case "super":
		base, exactly = path.Dir(strings.TrimSuffix(strings.TrimSuffix(file, ".rs"), "/mod")), true
		parts = parts[1:]
	default:
		out = placesOfCrate(parts, i.Member)
	}
	p := path.Join(append([]string{base}, parts...)...)
	if p == "" {
		p = "."
	}
	if i.Member != "" {
		out = append(out, Place{Path: path.Join(p, i.Member), Exact: exactly}, Place{Path: path.Join(p, i.Member, "mod"), Exact: exactly})
	}
	out = append(out, Place{Path: p, Exact: exactly}, Place{Path: path.Join(p, "mod"), Exact: exactly}, Place{Path: path.Join(p, "lib"), Exact: exactly})
	return append(out, Place{Path: p, Directory: true, Below: true, Exact: exactly})
}

// placesOfCrate returns the possible places of another crate's modules. The crate's
// directory is named like the crate, with dashes, or like its last word. The module may
// be anywhere in the crate, since crates re-export the names of their modules.
func placesOfCrate(parts []string, member string) (out []Place) {
	words := strings.Split(parts[0], "_")
	directories := []string{strings.Join(words, "-")}
	if len(words) > 1 {
		directories = append(directories, parts[0], words[len(words)-1])
	}
	for _, directory := range directories {
		p := path.Join(append([]string{directory, "src"}, parts[1:]...)...)
		if member != "" {
			out = append(out, Place{Path: path.Join(p, member)}, Place{Path: path.Join(p, member, "mod")})
		}
		out = append(out, Place{Path: p}, Place{Path: path.Join(p, "mod")}, Place{Path: path.Join(p, "lib")})
	}
	for _, directory := range directories {
		out = append(out, Place{Path: path.Join(directory, "src"), Directory: true, Below: true})
	}
	return out
}
