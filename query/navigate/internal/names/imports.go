package names

import (
	"path"
	"regexp"
	"strings"
)

// An Import is a name, or all names, that a file imports from another file.
type Import struct {
	// Name is the name that the file uses, and At its token; empty if All.
	Name string
	At   int
	// Spec is the token of the module, if the import defines the name of a package.
	Spec int
	// Module is the module as written, and Member the name in it; empty for the module
	// itself.
	Module, Member string
	// All means that the import covers every name of the module.
	All bool
}

// ImportOf returns the import that binds a name, or nil if there is none.
func (f *File) ImportOf(name string) *Import {
	for k := range f.Imports {
		if f.Imports[k].Name == name {
			return &f.Imports[k]
		}
	}
	if f.d.typeNext { // a package may be named differently from its directory
		for k := range f.Imports {
			if last := path.Base(f.Imports[k].Module); strings.Contains(last, name) && f.Imports[k].At == 0 {
				return &f.Imports[k]
			}
		}
	}
	return nil
}

// Places returns the possible places of the module of an import, likeliest first.
func (f *File) Places(i *Import) []Place {
	if f.d.places == nil {
		return nil
	}
	return f.d.places(f.Path, i)
}

// LocatesImports reports whether imports tell the places of their modules.
func (f *File) LocatesImports() bool { return f.d.places != nil }

// A Place is a possible location of the files of a module.
type Place struct {
	// Path is a slash-separated path without extension, of a file or directory.
	Path string
	// Directory means that Path is a directory. Below means that files at any depth below
	// it count. Exact means that no path precedes it. Root means that the place is the
	// root of the repository with that name.
	Directory, Below, Exact, Root bool
}

// Matches reports whether a file is in the place.
func (p *Place) Matches(repository, file string) bool {
	switch {
	case p.Root:
		return !strings.Contains(file, "/") && (repository == p.Path || path.Base(repository) == path.Base(p.Path))
	case p.Below:
		return p.inside(path.Dir(file)+"/", true)
	case p.Directory:
		return p.inside(path.Dir(file), false)
	}
	base := file
	if dot := strings.IndexByte(path.Base(file), '.'); dot >= 0 {
		base = file[:len(file)-len(path.Base(file))+dot]
	}
	return p.inside(base, false)
}

// inside reports whether a path equals or ends in p.Path or, with below, is below it.
func (p *Place) inside(s string, below bool) bool {
	switch {
	case below && p.Exact:
		return strings.HasPrefix(s, p.Path+"/") || p.Path == "."
	case below:
		return strings.Contains("/"+s, "/"+p.Path+"/")
	case p.Exact:
		return s == p.Path
	}
	return s == p.Path || strings.HasSuffix(s, "/"+p.Path)
}

// Pattern returns a regular expression for the paths of the place.
func (p *Place) Pattern() string {
	start := "(?:^|/)"
	if p.Exact {
		start = "^"
	}
	quoted := regexp.QuoteMeta(p.Path)
	switch {
	case p.Root || p.Exact && p.Path == "." && !p.Below:
		return "^[^/]*$"
	case p.Exact && p.Path == ".":
		return ""
	case p.Below:
		return start + quoted + "/"
	case p.Directory:
		return start + quoted + "/[^/]*$"
	}
	return start + quoted + `\.[^/]*$`
}

// Siblings returns the place of the files that share names with f without an import, or
// false if there are none.
func (f *File) Siblings() (Place, bool) {
	if !f.d.directories {
		return Place{}, false
	}
	return Place{Path: path.Dir(f.Path), Directory: true, Exact: true}, true
}

func (f *File) addImport(i Import) {
	if len(f.Imports) < maxImports {
		f.Imports = append(f.Imports, i)
	}
}

// unquote returns the text of the string at token i.
func (f *File) unquote(i int) string {
	if !f.isKind(i, kindString) {
		return ""
	}
	return strings.Trim(f.word(i), "\"'`")
}

func readGoImports(f *File) {
	for i := range f.tokens {
		switch {
		case f.tokens[i].around >= 0 || !f.tokens[i].newline:
		case f.is(i, "import") && f.is(i+1, "("):
			for k := i + 2; k < f.pairOf(i+1); k++ {
				f.addGoImport(k)
			}
		case f.is(i, "import"):
			f.addGoImport(i + 1)
			f.addGoImport(i + 2)
		case f.is(i, "func"), f.is(i, "type"):
			return
		}
	}
}

func (f *File) addGoImport(i int) {
	module := f.unquote(i)
	if module == "" {
		return
	}
	one := Import{Module: module, Spec: i}
	switch {
	case f.isName(i-1) && !f.tokens[i].newline:
		one.Name, one.At = f.word(i-1), i-1
	case f.is(i-1, ".") && !f.tokens[i].newline:
		one.All = true
	default:
		one.Name = goPackageName(module)
	}
	f.addImport(one)
}

var goVersion = regexp.MustCompile(`^v[0-9]+$`)

// goPackageName guesses the name of a package from its path.
func goPackageName(module string) string {
	name := path.Base(module)
	if goVersion.MatchString(name) && path.Dir(module) != "." {
		name = path.Base(path.Dir(module))
	}
	if dot := strings.Index(name, ".v"); dot > 0 {
		name = name[:dot]
	}
	name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(name, "go-"), "-go"), ".go")
	return name[strings.LastIndexByte(name, '-')+1:]
}

func placesOfGo(_ string, i *Import) []Place {
	var out []Place
	rest := i.Module
	for n := 0; rest != "" && n < maxDepth; n++ {
		out = append(out, Place{Path: rest, Directory: true})
		slash := strings.IndexByte(rest, '/')
		if slash < 0 {
			break
		}
		rest = rest[slash+1:]
	}
	root := i.Module
	if goVersion.MatchString(path.Base(root)) {
		root = path.Dir(root)
	}
	return append(out, Place{Path: root, Root: true})
}

func readJavaImports(f *File) {
	for i := range f.tokens {
		if f.tokens[i].around >= 0 || !f.is(i, "import") {
			continue
		}
		at, static := i+1, false
		if f.is(at, "static") {
			at, static = at+1, true
		}
		var parts []string
		last := at
		for f.isWord(at) && len(parts) < maxElements {
			parts, last = append(parts, f.word(at)), at
			if !f.is(at+1, ".") {
				break
			}
			at += 2
		}
		switch {
		case len(parts) == 0:
		case f.is(at, "*"):
			f.addImport(Import{Module: strings.Join(parts, "."), All: true, Member: staticMember(static)})
		default:
			n := len(parts) - 1
			one := Import{Name: parts[n], At: last, Module: strings.Join(parts[:n], "."), Member: parts[n]}
			if f.is(last+1, "as") && f.isWord(last+2) { // Kotlin
				one.Name, one.At = f.word(last+2), last+2
			}
			f.addImport(one)
		}
	}
}

// staticMember marks an import of all members of a class.
func staticMember(static bool) string {
	if static {
		return "*"
	}
	return ""
}

func placesOfJava(_ string, i *Import) []Place {
	directory := strings.ReplaceAll(i.Module, ".", "/")
	out := []Place{{Path: directory + "/" + i.Member}, {Path: directory}, {Path: directory, Directory: true}}
	if outer := path.Dir(directory); i.Member != "" && outer != "." {
		out = append(out, Place{Path: outer})
	}
	return out
}

func readIncludes(f *File) {
	for i := range f.tokens {
		if !f.is(i, "#include") && !(f.is(i, "include") && f.is(i-1, "#")) {
			continue
		}
		module := f.unquote(i + 1)
		if f.is(i+1, "<") {
			end := i + 2
			for end < len(f.tokens) && !f.is(end, ">") && end < i+maxElements {
				end++
			}
			if end < len(f.tokens) {
				module = string(f.Text[f.tokens[i+1].end:f.tokens[end].start])
			}
		}
		if module != "" {
			f.addImport(Import{Module: module, All: true})
		}
	}
}

func placesOfIncludes(_ string, i *Import) []Place {
	module := path.Clean(strings.TrimLeft(i.Module, "./"))
	if dot := strings.LastIndexByte(module, '.'); dot > strings.LastIndexByte(module, '/') {
		module = module[:dot]
	}
	return []Place{{Path: module}}
}

func readUsings(f *File) {
	for i := range f.tokens {
		if !f.is(i, "using") || !f.tokens[i].newline {
			continue
		}
		first := i + 1
		if f.is(first, "static") {
			first++
		}
		if f.is(first+1, "=") { // an alias
			first += 2
		}
		var parts []string
		for at := first; f.isWord(at) && len(parts) < maxElements; at += 2 {
			parts = append(parts, f.word(at))
			if !f.is(at+1, ".") {
				break
			}
		}
		f.addImport(Import{Module: strings.Join(parts, "."), All: true})
	}
}
