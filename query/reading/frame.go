package reading

import (
	"cmp"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Frame is a line of a stack trace: a place in a file, a symbol, or both.
type Frame struct {
	Language string // as in frameShapes; empty if the shape is ambiguous
	// Path is the path in the trace, with slashes, without host, drive and module
	// versions; empty if there is none.
	Path string
	Line int // from 1; 0 if there is none
	// Package is the path or the dotted name of a package or namespace, and Type the type
	// or class that contains Function.
	Package, Type, Function string
	// Revision is the branch, tag or commit of a link; empty if there is none.
	Revision string
	// Text is the line that the frame was read from.
	Text string
	// sure is set if only traces contain such lines.
	sure bool
}

// HasSymbol reports whether the frame names a function.
func (f *Frame) HasSymbol() bool { return f.Function != "" }

// isTrace recognizes a stack trace by its lines.
func (p *Paste) isTrace() bool {
	if !strings.ContainsAny(p.Text, ":(#\"@") && !strings.Contains(p.Text, ", line ") {
		return false
	}
	sure := 0
	for _, line := range strings.Split(p.Text, "\n") {
		f, ok := parseLink(strings.TrimSpace(line))
		if !ok {
			f, ok = parseFrame(strings.TrimSpace(line))
		}
		if !ok {
			continue
		}
		if f.sure {
			sure++
		}
		if n := len(p.Frames); n > 0 && p.Frames[n-1].addPlace(&f) {
			continue
		}
		if p.Frames = append(p.Frames, f); len(p.Frames) == MaxFrames {
			break
		}
	}
	if len(p.Frames) == 0 || sure == 0 && len(p.Lines) > 1 {
		p.Frames = nil
		return false
	}
	if p.Frames[0].Language == "Python" { // the frame that failed is the last
		for i, j := 0, len(p.Frames)-1; i < j; i, j = i+1, j-1 {
			p.Frames[i], p.Frames[j] = p.Frames[j], p.Frames[i]
		}
	}
	p.Kinds, p.Sure = []Kind{Trace}, sure > 0
	return true
}

// linkPaths match the paths of links to a file at the code hosts, and in other code
// searches: the repository, the revision and the path of the file.
var linkPaths = []*regexp.Regexp{
	regexp.MustCompile(`^/projects/(?P<project>[^/]+)/repos/(?P<repo>[^/]+)/(?:browse|raw)/(?P<path>.+)$`),              // Bitbucket Server
	regexp.MustCompile(`^/(?:.+/)?(?P<repo>[^/]+/_git/[^/]+)$`),                                                         // Azure DevOps
	regexp.MustCompile(`^/(?:browse/)?(?P<repo>[^@]+?)@(?P<rev>[^@]+?)/-/(?:blob|tree)/(?P<path>.+)$`),                  // Quarry and others
	regexp.MustCompile(`^/(?:plugins/gitiles/)?(?P<repo>.+?)/\+/(?:refs/(?:heads|tags)/)?(?P<rev>[^/]+)/(?P<path>.+)$`), // Gerrit
	regexp.MustCompile(`^/(?P<repo>.+?)/-?/?(?:blob|blame|raw)/(?:branch/|tag/|commit/)?(?P<rev>[^/]+)/(?P<path>.+)$`),  // GitHub, GitLab
	regexp.MustCompile(`^/(?P<repo>[^/]+/[^/]+)/src/(?:branch/|tag/|commit/)?(?P<rev>[^/]+)/(?P<path>.+)$`),             // Gitea, Bitbucket Cloud
}

// lineOfLink matches the line in a fragment or query of a link.
var lineOfLink = regexp.MustCompile(`^(?:L|l|lines-|line-)?(\d+)`)

// azureVersion matches the kind of a version in a link of Azure DevOps.
var azureVersion = regexp.MustCompile(`^G[BTC]`)

// parseLink reads a link to a line of a file at a code host: a frame whose path begins with
// the repository.
func parseLink(line string) (f Frame, ok bool) {
	if len(line) > maxFrameBytes || !strings.HasPrefix(line, "https://") && !strings.HasPrefix(line, "http://") || strings.ContainsAny(line, " \t") {
		return f, false
	}
	u, err := url.Parse(line)
	if err != nil {
		return f, false
	}
	for _, expression := range linkPaths {
		m := expression.FindStringSubmatch(u.Path)
		if m == nil {
			continue
		}
		part := func(name string) string {
			if i := expression.SubexpIndex(name); i >= 0 {
				return m[i]
			}
			return ""
		}
		repository, file := part("repo"), part("path")
		if _, name, azure := strings.Cut(repository, "/_git/"); azure {
			repository, file = name, u.Query().Get("path")
		}
		if project := part("project"); project != "" {
			repository = strings.ToLower(project) + "/" + repository
		}
		if file = strings.Trim(file, "/"); file == "" {
			continue
		}
		f = Frame{Path: cleanPath(repository + "/" + file), Text: line, Line: 1, sure: true}
		f.Revision = cmp.Or(part("rev"), u.Query().Get("at"), azureVersion.ReplaceAllString(u.Query().Get("version"), ""))
		for _, written := range []string{u.Fragment, u.Query().Get("line"), u.RawQuery} {
			if m := lineOfLink.FindStringSubmatch(written); m != nil {
				f.Line, _ = strconv.Atoi(m[1])
				break
			}
		}
		return f, f.Line > 0
	}
	return f, false
}

// addPlace adds the place in the line after a symbol, as Go and Rust print it.
func (f *Frame) addPlace(next *Frame) bool {
	if f.Path != "" || next.Path == "" || next.HasSymbol() || f.Language != "Go" && f.Language != "Rust" {
		return false
	}
	f.Path, f.Line, f.Text = next.Path, next.Line, f.Text+" "+next.Text
	return true
}

// frameShape is a form of the lines of traces.
type frameShape struct {
	language   string
	expression *regexp.Regexp // names groups: package, type, function, symbol, path, line
	sure       bool
}

const pathLine = `(?P<path>[^\s()"':]*[^\s()"':/\\]\.[A-Za-z]\w{0,5})`

// frameShapes returns all forms. They are compiled when the first text is read as a trace,
// because most processes read none.
var frameShapes = sync.OnceValue(func() []frameShape {
	return []frameShape{
		{"Python", regexp.MustCompile(`^File "(?P<path>[^"]+)", line (?P<line>\d+)(?:, in (?P<symbol>\S+))?`), true},
		{"Java", regexp.MustCompile(`^(?:at )?(?:[\w.@-]*/)*(?P<package>(?:\w+\.)*?)(?P<type>[A-Z\p{Lu}][\w$]*)\.(?P<function>[\w$<>]+)\((?:(?P<path>\w+\.(?:java|kt|scala|groovy))(?::(?P<line>\d+))?|Native Method|Unknown Source)\)`), true},
		{"C#", regexp.MustCompile(`^at (?P<symbol>[\w.<>` + "`" + `+|\[\],]+)\([^()]*\) in (?:[A-Za-z]:)?(?P<path>.+?):line (?P<line>\d+)`), true},
		{"C#", regexp.MustCompile(`^at (?P<symbol>(?:\w+\.)+[\w<>` + "`" + `+|\[\]]+)\((?:\w[\w.\[\]&` + "`" + `]* \w+(?:, )?)*\)$`), true},
		{"PHP", regexp.MustCompile(`^#\d+ (?P<path>[^()]+\.\w+)\((?P<line>\d+)\)(?:: (?P<symbol>[\w\\]+(?:(?:->|::)\w+)?)\()?`), true},
		{"PHP", regexp.MustCompile(`^(?:PHP )?[A-Z][\w ]+: .* in (?P<path>\S+\.php)(?: on line |:)(?P<line>\d+)`), true},
		{"Dart", regexp.MustCompile(`^#\d+\s+(?P<symbol>\S+) \((?:package:|file://)(?P<path>[^():]+\.dart):(?P<line>\d+)(?::\d+)?\)`), true},
		{"Ruby", regexp.MustCompile(`^(?:from )?(?:(?P<gem>[\w-]+) \(\d[\w.-]*\) )?(?P<path>[^\s:]+\.(?:rb|erb|rake|ru)):(?P<line>\d+):in ` + "[`']" + `(?:(?:block|rescue|ensure)(?: \(\d+ levels\))? in )*(?P<symbol>[^'` + "`" + `]+)'`), true},
		{"Ruby", regexp.MustCompile(`^(?:from )?(?P<gem>[\w-]+) \(\d[\w.-]*\) (?P<path>[^\s:]+\.(?:rb|erb|rake|ru)):(?P<line>\d+)$`), true},
		{"Elixir", regexp.MustCompile(`^\((?P<gem>\w+) \d[\w.-]*\) (?P<path>\S+\.exs?):(?P<line>\d+)(?:: |$)`), true},
		{"Swift", regexp.MustCompile(`(?:^|: )file (?P<path>\S+\.swift), line (?P<line>\d+)`), true},
		{"Perl", regexp.MustCompile(`\bat (?P<path>\S+\.(?:pl|pm|t)) line (?P<line>\d+)`), true},
		{"C++", regexp.MustCompile(`^#\d+\s+(?:0x[0-9a-fA-F]+ in )?(?P<symbol>[^()]+?) ?\(.*?\)(?: at (?P<path>[^\s:]+):(?P<line>\d+)| from \S+)?`), true},
		{"JavaScript", regexp.MustCompile(`^at (?:async )?(?:new )?(?P<symbol>[^()\s]+)(?: \[as [^\]]+\])? \((?P<path>[^()]+?):(?P<line>\d+):\d+\)$`), true},
		{"", regexp.MustCompile(`^at (?:async )?(?P<path>[^()\s]+?\.\w+):(?P<line>\d+)(?::\d+)?$`), true},
		{"JavaScript", regexp.MustCompile(`^(?P<symbol>[\w$./<]*)@(?P<path>\S+?\.\w+):(?P<line>\d+):\d+$`), true},
		{"Go", regexp.MustCompile(`^(?:created by )?(?P<package>(?:[\w.~%-]+/)*[\w%-]+)\.(?:\(\*?(?P<type>\w+)(?:\[[^\]]*\])?\)\.)?(?P<function>\w+)(?:\[\.\.\.\])?(?:\.func\d+|\.gowrap\d+|\.\d+|-range\d+|-fm)*\((?:0x|\{0x|\.\.\.|…|\{\.\.\.|\{\{0x)`), true},
		{"Go", regexp.MustCompile(`^(?:created by )?(?P<package>(?:[\w.~%-]+/)*[\w%-]+)\.(?:\(\*?(?P<type>\w+)(?:\[[^\]]*\])?\)\.)(?P<function>\w+)(?:\.func\d+|\.gowrap\d+|\.\d+|-fm)*(?:\(\))?(?: in goroutine \d+)?$`), true},
		{"Go", regexp.MustCompile(`^(?:created by )(?P<package>(?:[\w.~%-]+/)*[\w%-]+)\.(?P<function>\w+)(?:\.func\d+|\.gowrap\d+|\.\d+)*(?: in goroutine \d+)?$`), true},
		{"Go", regexp.MustCompile(`^(?P<package>(?:[\w.~%-]+/)*[\w%-]+)\.(?P<function>\w+)(?:\.func\d+|\.\d+)*\(\)$`), false},
		{"Go", regexp.MustCompile(`^(?P<path>\S+\.(?:go|s)):(?P<line>\d+) \+0x[0-9a-f]+$`), true},
		{"Rust", regexp.MustCompile(`^\d+:\s+(?:0x[0-9a-f]+ - )?(?P<symbol><?[\w:<>&{}#, ]*::[\w<>{}#]+)$`), true},
		{"Rust", regexp.MustCompile(`^thread '[^']*'(?: \(\d+\))? panicked at (?:'.*', )?(?P<path>\S+?\.rs):(?P<line>\d+):\d+`), true},
		{"", regexp.MustCompile(`^` + pathLine + `:(?P<line>\d+)(?::\d+)?:?$`), false},
		{"", regexp.MustCompile(`^` + pathLine + `#L(?P<line>\d+)(?:C\d+)?(?:-L\d+(?:C\d+)?)?$`), true},
		{"", regexp.MustCompile(`^` + pathLine + `:(?P<line>\d+)(?::\d+)?:\s?`), true},
	}
})

// maxFrameBytes bounds a line that may be a frame.
const maxFrameBytes = 2 << 10

func parseFrame(line string) (f Frame, ok bool) {
	if line == "" || len(line) > maxFrameBytes {
		return f, false
	}
	for _, shape := range frameShapes() {
		m := shape.expression.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		f = Frame{Language: shape.language, Text: line, sure: shape.sure}
		for j, name := range shape.expression.SubexpNames() {
			f.setField(name, m[j])
		}
		if f.normalizeNames() {
			return f, true
		}
	}
	return Frame{}, false
}

func (f *Frame) setField(name, value string) {
	switch name {
	case "path":
		f.Path = cleanPath(value)
	case "line":
		f.Line, _ = strconv.Atoi(value)
	case "gem": // the package, as a folder
		f.Package = value
	case "package":
		f.Package = strings.TrimSuffix(value, ".")
	case "type":
		f.Type = value
	case "function":
		f.Function = value
	case "symbol":
		f.setSymbol(value)
	}
}

var (
	moduleVersion = regexp.MustCompile(`@v[^/]+`)
	typeArguments = regexp.MustCompile(`<[^<>]*>|\[[^\[\]]*\]|` + "`" + `\d+`)
	rustHash      = regexp.MustCompile(`::h[0-9a-f]{16}$`)
)

// cleanPath returns a path with slashes, without the leading parts of a URL.
func cleanPath(p string) string {
	p = strings.ReplaceAll(p, `\`, "/")
	if i := strings.Index(p, "://"); i >= 0 {
		if u, err := url.Parse(p); err == nil {
			p = u.Path
		} else {
			p = p[i+len("://"):]
		}
	}
	if len(p) > 1 && p[1] == ':' {
		p = p[2:]
	}
	if p == "" || strings.HasPrefix(p, "<") {
		return ""
	}
	return moduleVersion.ReplaceAllString(strings.TrimPrefix(path.Clean("/"+p), "/"), "")
}

// setSymbol splits a qualified name.
func (f *Frame) setSymbol(symbol string) {
	if strings.Contains(symbol, "<anonymous>") {
		return
	}
	symbol = rustHash.ReplaceAllString(strings.TrimSpace(symbol), "")
	if f.Language == "Rust" {
		symbol = strings.NewReplacer("::{{closure}}", "", "::{closure#0}", "", "{impl#0}::", "").Replace(symbol)
		if strings.HasPrefix(symbol, "<") { // <type as trait>::function
			inner, rest, _ := strings.Cut(symbol[1:], ">::")
			of, _, _ := strings.Cut(inner, " as ")
			symbol = of + "::" + rest
		}
	}
	for i := 0; i < 4 && typeArguments.MatchString(symbol) && !strings.HasPrefix(symbol, "<"); i++ {
		symbol = typeArguments.ReplaceAllString(symbol, "")
	}
	separated := strings.FieldsFunc(symbol, func(c rune) bool {
		return strings.ContainsRune(".:/+#\\", c) || c == '-' || c == '>' && f.Language == "PHP"
	})
	if len(separated) == 0 {
		return
	}
	if f.Language == "C++" { // a type may precede the name
		last := strings.Fields(separated[len(separated)-1])
		if len(last) == 0 {
			return
		}
		separated[len(separated)-1] = last[len(last)-1]
	}
	n := len(separated)
	f.Function = separated[n-1]
	if n > 1 {
		f.Type = separated[n-2]
	}
	if n > 2 {
		f.Package = strings.Join(separated[:n-2], ".")
	}
}

var plainName = regexp.MustCompile(`^[\pL_$][\pL\pN_$]*$`)

// normalizeNames drops names that do not occur in source code, and adds the path that
// follows from a class. It reports whether anything is left.
func (f *Frame) normalizeNames() bool {
	if f.Language == "Java" {
		if lambda := strings.Split(f.Function, "$"); len(lambda) == 3 && lambda[0] == "lambda" {
			f.Function = lambda[1]
		}
		f.Type, _, _ = strings.Cut(f.Type, "$")
		if f.Function == "<init>" || f.Function == "<clinit>" {
			f.Function = f.Type
		}
		if f.Path == "" {
			f.Path = f.Type + ".java"
		}
		if f.Package != "" {
			f.Path = strings.ReplaceAll(f.Package, ".", "/") + "/" + f.Path
		}
	}
	if f.Package != "" && (f.Language == "Ruby" || f.Language == "Elixir") {
		f.Path, f.Package = f.Package+"/"+f.Path, ""
	}
	if !plainName.MatchString(f.Function) {
		f.Function = ""
	}
	if !plainName.MatchString(f.Type) || f.Type == "Object" && f.Language == "JavaScript" {
		f.Type = ""
	}
	return f.Function != "" || f.Path != "" && f.Line > 0
}
