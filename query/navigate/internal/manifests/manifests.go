// Package manifests reads which package a manifest of a package manager names.
//
// It answers the question "does this file say that its repository is the source of that
// package?". Formats returns the kinds of manifests of a package manager; each has
// expressions to find its files with a search, and Names returns the packages that a file
// names.
//
// # Invariants
//
//  1. Any text is accepted, in time linear in its size.
//  2. A manifest names its own package only: names of dependencies do not count.
//  3. What only running a program would show, such as a name computed in a build script, is
//     not read.
package manifests

import (
	"encoding/json"
	"encoding/xml"
	"regexp"
	"strings"
)

// Format is a kind of manifest.
type Format struct {
	// File is a regular expression for the paths of its files.
	File string
	// pattern begins a regular expression for the text around a name, and end ends it.
	pattern, end string
	read         func(text string) []string
	// normalize returns the spelling by which names are compared; nil if names are exact.
	normalize func(name string) string
	// fold means that the search ignores case.
	fold bool
}

// jsonKey precedes a name in a manifest that is JSON.
const jsonKey = `"name"\s*:\s*"`

var (
	python = []Format{
		{File: `(?:^|/)pyproject\.toml$`, pattern: `\bname\s*=\s*["']`, end: `["']`, read: tomlName("project", "tool.poetry"), normalize: pythonName, fold: true},
		{File: `(?:^|/)setup\.cfg$`, pattern: `\bname\s*=\s*`, end: `\b`, read: tomlName("metadata"), normalize: pythonName, fold: true},
		{File: `(?:^|/)setup\.py$`, pattern: `\bname\s*=\s*["']`, end: `["']`, read: matchedNames(`\bname\s*=\s*["']([^"'\n]+)["']`), normalize: pythonName, fold: true},
	}
	formats = map[string][]Format{
		"gomod":    {{File: `(?:^|/)go\.mod$`, pattern: `\bmodule\s+"?`, end: `(?:["\s]|$)`, read: goModule}},
		"npm":      {{File: `(?:^|/)package\.json$`, pattern: jsonKey, end: `"`, read: jsonName}},
		"composer": {{File: `(?:^|/)composer\.json$`, pattern: jsonKey, end: `"`, read: jsonName}},
		"cargo":    {{File: `(?:^|/)Cargo\.toml$`, pattern: `\bname\s*=\s*["']`, end: `["']`, read: tomlName("package")}},
		"python":   python,
		"pip":      python,
		"pub":      {{File: `(?:^|/)pubspec\.yaml$`, pattern: `\bname\s*:\s*["']?`, end: `\b`, read: matchedNames(`(?m)^name\s*:\s*["']?([^"'\s#]+)`)}},
		"gem":      {{File: `\.gemspec$`, pattern: `\bname\s*=\s*["']`, end: `["']`, read: matchedNames(`\.name\s*=\s*["']([^"'\n]+)["']`)}},
		"maven":    {{File: `(?:^|/)pom\.xml$`, pattern: `<artifactId>\s*`, end: `\s*<`, read: mavenNames, normalize: mavenName}},
		"nuget":    {{File: `\.(?:cs|fs|vb)proj$`, pattern: `<(?:PackageId|AssemblyName)>\s*`, end: `\s*<`, read: matchedNames(`<(?:PackageId|AssemblyName)>\s*([^<\s]+)\s*<`), normalize: strings.ToLower, fold: true}},
	}
)

// Formats returns the kinds of manifests of a package manager, by its name in SCIP symbols;
// none if they are unknown.
func Formats(manager string) []Format { return formats[manager] }

// Text returns a regular expression that matches in the manifests that name a package, and
// may match in others, and reports whether it is case-sensitive.
func (f *Format) Text(name string) (pattern string, caseSensitive bool) {
	if i := strings.LastIndexAny(name, "/:"); f.normalize != nil && i >= 0 {
		name = name[i+1:] // a Maven artifact
	}
	quoted := regexp.QuoteMeta(name)
	if f.fold {
		quoted = separators.ReplaceAllString(quoted, `[-_.]+`)
	}
	return f.pattern + strings.ReplaceAll(quoted, "/", `\\?/`) + f.end, !f.fold
}

// Declares reports whether a manifest names the package.
func (f *Format) Declares(text []byte, name string) bool {
	for _, found := range f.read(string(text)) {
		if found == name || f.normalize != nil && f.normalize(found) == f.normalize(name) {
			return true
		}
	}
	return false
}

var (
	separators       = regexp.MustCompile(`(?:\\?[-_.])+`)
	pythonSeparators = regexp.MustCompile(`[-_.]+`)
)

// pythonName returns the normalized name of a Python package (PEP 503).
func pythonName(name string) string {
	return strings.ToLower(pythonSeparators.ReplaceAllString(name, "-"))
}

// mavenName returns GROUP:ARTIFACT for the spellings of the indexers:
// maven/GROUP/ARTIFACT, GROUP/ARTIFACT and GROUP:ARTIFACT.
func mavenName(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "maven/"), "/", ":")
}

func goModule(text string) []string {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		if words := strings.Fields(line); len(words) == 2 && words[0] == "module" {
			return []string{strings.Trim(words[1], "\"`")}
		}
	}
	return nil
}

func jsonName(text string) []string {
	var manifest struct{ Name string }
	if json.Unmarshal([]byte(text), &manifest) != nil || manifest.Name == "" {
		return nil
	}
	return []string{manifest.Name}
}

// tomlName returns a function that returns the value of the key name in the given tables.
func tomlName(tables ...string) func(string) []string {
	return func(text string) (out []string) {
		inside := false
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "[") {
				table, _, _ := strings.Cut(strings.TrimLeft(line, "["), "]")
				inside = false
				for _, wanted := range tables {
					inside = inside || strings.TrimSpace(table) == wanted
				}
				continue
			}
			key, value, ok := strings.Cut(line, "=")
			if !ok || !inside || strings.TrimSpace(key) != "name" {
				continue
			}
			value, _, _ = strings.Cut(value, "#")
			out = append(out, strings.Trim(strings.TrimSpace(value), `"'`))
		}
		return out
	}
}

// matchedNames returns a function that returns the first group of each match.
func matchedNames(pattern string) func(string) []string {
	expression := regexp.MustCompile(pattern)
	return func(text string) (out []string) {
		for _, m := range expression.FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
		return out
	}
}

func mavenNames(text string) []string {
	var project struct {
		XMLName    xml.Name `xml:"project"`
		GroupID    string   `xml:"groupId"`
		ArtifactID string   `xml:"artifactId"`
		Parent     struct {
			GroupID string `xml:"groupId"`
		} `xml:"parent"`
	}
	if xml.Unmarshal([]byte(text), &project) != nil || project.ArtifactID == "" {
		return nil
	}
	group := strings.TrimSpace(project.GroupID)
	if group == "" {
		group = strings.TrimSpace(project.Parent.GroupID)
	}
	return []string{group + ":" + strings.TrimSpace(project.ArtifactID)}
}
