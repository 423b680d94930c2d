package docscheck

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Page is one Markdown file.
type Page struct {
	// Name is the path of the page in the tree. Text is its content without fenced code.
	Name, Text string
	// Code is the content of its fenced code.
	Code     string
	headings map[string]bool
}

// Read reads a page of the tree below root.
func Read(root, name string) (*Page, error) {
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return nil, err
	}
	return Parse(name, string(text)), nil
}

// Parse splits a page into text and code.
func Parse(name, text string) *Page {
	p := &Page{Name: name, headings: map[string]bool{}}
	var prose, code strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			fenced = !fenced
		case fenced:
			code.WriteString(line)
		default:
			prose.WriteString(line)
			if strings.HasPrefix(line, "#") {
				p.headings[headingAnchor(strings.TrimLeft(line, "#"))] = true
			}
		}
	}
	p.Text, p.Code = prose.String(), code.String()
	return p
}

// headingAnchor returns the URL fragment that code hosts give to a heading.
func headingAnchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(heading)) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}

var (
	linkPattern   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	targetPattern = regexp.MustCompile("(?m)(?:`|^)make ([a-z0-9-]+)")
	pathPattern   = regexp.MustCompile("`((?:schemas|ingest|pipeline|projections|query|cmd|deploy|docs)(?:/[A-Za-z0-9_./-]*)?)`")
)

// BrokenLinks returns a description of each broken relative link of p. pages contains
// every page by name.
func (p *Page) BrokenLinks(root string, pages map[string]*Page) []string {
	var broken []string
	for _, match := range linkPattern.FindAllStringSubmatch(p.Text, -1) {
		target, fragment, _ := strings.Cut(match[1], "#")
		if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
			continue
		}
		name := p.Name
		if target != "" {
			name = filepath.ToSlash(filepath.Join(filepath.Dir(p.Name), target))
		}
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			broken = append(broken, fmt.Sprintf("%s: the link to %s leads nowhere", p.Name, match[1]))
			continue
		}
		if to := pages[name]; fragment != "" && to != nil && !to.headings[fragment] {
			broken = append(broken, fmt.Sprintf("%s: %s has no heading #%s", p.Name, name, fragment))
		}
	}
	return broken
}

// Targets returns the make targets that p mentions.
func (p *Page) Targets() []string {
	var targets []string
	for _, text := range []string{p.Text, p.Code} {
		for _, match := range targetPattern.FindAllStringSubmatch(text, -1) {
			targets = append(targets, match[1])
		}
	}
	return targets
}

// Paths returns the paths of the tree that p mentions.
func (p *Page) Paths() []string {
	var paths []string
	for _, match := range pathPattern.FindAllStringSubmatch(p.Text, -1) {
		paths = append(paths, strings.TrimSuffix(match[1], "/"))
	}
	return paths
}

// MaxLineRunes bounds a line of prose. Tables, headings, code and generated parts have
// longer lines.
const MaxLineRunes = 100

var (
	// unbrokenPattern is what a line of prose cannot be broken in.
	unbrokenPattern = regexp.MustCompile("`[^`]*`")
	itemPattern     = regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)])\s+`)
	// unwrappedPattern is how lines begin that are not prose.
	unwrappedPattern = regexp.MustCompile(`^(?:\||#|<|!\[|\[[^\]]+\]:|    |\t)`)
)

// LongLines returns the lines of prose with more than MaxLineRunes runes, cut.
func (p *Page) LongLines() []string {
	var long []string
	generated := false
	for line := range strings.Lines(p.Text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "<!--") {
			generated = strings.HasSuffix(line, "written by make generate -->")
		}
		if generated || unwrappedPattern.MatchString(line) || utf8.RuneCountInString(line) <= MaxLineRunes {
			continue
		}
		words := itemPattern.ReplaceAllString(unbrokenPattern.ReplaceAllString(line, "_"), "")
		if strings.Contains(strings.TrimSpace(words), " ") {
			long = append(long, fmt.Sprintf("%s: wrap at %d columns: %.60s…", p.Name, MaxLineRunes, line))
		}
	}
	return long
}
