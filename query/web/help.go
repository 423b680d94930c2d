package web

import (
	"encoding/xml"
	"fmt"
	"net/http"
)

// syntaxPage explains the query language briefly.
func (s *Server) syntaxPage(w http.ResponseWriter, v *pageRequest) error {
	return s.renderPage(w, v, view{template: "syntax", title: s.texts.mustFormat("syntaxTitle"), data: syntaxRows})
}

// syntaxRow is an example of a query and what it finds.
type syntaxRow struct{ Query, Text string }

// syntaxGroup is a section of that page.
type syntaxGroup struct {
	Title string
	Rows  []syntaxRow
}

// syntaxRows are examples of what docs/query-language.md explains; a test parses each
// one.
var syntaxRows = []syntaxGroup{
	{"Text", []syntaxRow{
		{"read header", "files with both words, anywhere in the file"},
		{`"read header"`, "these characters, blanks included"},
		{"open or close", "files with one of them"},
		{"open -close", "files with one and without the other"},
		{"(open or close) file", "parentheses group"},
		{`regex:err(or)?\b`, "a regular expression; the switch .* makes every term one"},
		{"case:yes Open", "letters exactly as they are; so does the switch Aa"},
	}},
	{"Where", []syntaxRow{
		{"repo:kettle boil", "in repositories whose names match"},
		{"repo:^github\\.com/meadow/kettle$ boil", "in that one"},
		{"file:\\.go$ boil", "in files whose paths match"},
		{"file:*.go boil", "the same as a glob"},
		{"lang:go boil", "in files of a language"},
		{"rev:release boil", "on other branches and tags; rev:* on all that are indexed"},
		{"-is:test boil", "not in tests; also is:generated, is:vendored, is:docs"},
		{"boil -line:TODO", "not on lines with TODO"},
		{"repo:has.file(path:go.mod content:meadow) boil", "in repositories with such a file; also repo:has.path() and repo:has.content()"},
		{"file:has.content(import) boil", "in files that contain something else"},
		{"file:has.owner(@meadow) boil", "in files that CODEOWNERS gives to somebody"},
	}},
	{"What", []syntaxRow{
		{"sym:^New$", "files that define the symbol"},
		{"type:symbol New", "the symbols themselves"},
		{"kind:struct Batch", "symbols of a kind: func, struct, interface, class, const, …"},
		{"type:file readme", "files by their paths"},
		{"type:repo kettle", "repositories by their names"},
	}},
	{"Pasted text", []syntaxRow{
		{`if err := f.Close(); err != nil {`, "a line of code, whatever its blanks"},
		{"open /etc/app.conf: no such file or directory", "an error message leads to where it is made"},
	}},
}

// shortcutRow is a line of the page about keyboard shortcuts.
type shortcutRow struct {
	Keys []string
	Text string
}

// shortcutsPage lists the keyboard shortcuts.
func (s *Server) shortcutsPage(w http.ResponseWriter, v *pageRequest) error {
	return s.renderPage(w, v, view{template: "shortcuts", title: s.texts.mustFormat("keysTitle"), data: s.shortcutRows()})
}

// shortcutRows returns the shortcuts of pages for the help.
func (s *Server) shortcutRows() (rows []shortcutRow) {
	for _, k := range []struct {
		keys []string
		text string
	}{
		{[]string{"/", "s"}, "key_query"}, {[]string{"Ctrl+K", "t"}, "key_palette"}, {[]string{"j", "k"}, "key_match"}, {[]string{"J", "K"}, "key_file"}, {[]string{"n", "p"}, "key_file"},
		{[]string{"Enter", "o"}, "key_open"}, {[]string{"i"}, "key_preview"}, {[]string{"x"}, "key_fold"}, {[]string{"+", "-"}, "key_context"}, {[]string{"c"}, "key_copy"}, {[]string{"C"}, "key_copyLine"},
		{[]string{"d"}, "key_definition"}, {[]string{"r"}, "key_references"}, {[]string{"b"}, "key_blame"}, {[]string{"h"}, "key_log"}, {[]string{"e"}, "key_editor"},
		{[]string{"v"}, "key_host"}, {[]string{"w"}, "key_branch"}, {[]string{"l"}, "key_goLine"}, {[]string{"y", "Y"}, "key_permalink"},
		{[]string{"f"}, "key_facets"}, {[]string{"Esc"}, "key_back"}, {[]string{"Alt+R"}, "key_regexp"}, {[]string{"Alt+C"}, "key_case"},
		{[]string{"Shift+Enter"}, "key_line"}, {[]string{"↑"}, "key_history"}, {[]string{"g h"}, "key_home"}, {[]string{"g r"}, "key_repositories"}, {[]string{"g d"}, "key_deliveries"}, {[]string{"g s"}, "key_settings"}, {[]string{"?"}, "key_help"},
	} {
		rows = append(rows, shortcutRow{k.keys, s.texts.mustFormat(k.text)})
	}
	return rows
}

// openSearch tells a browser how to search this server from its address bar.
func (s *Server) openSearch(w http.ResponseWriter, _ *pageRequest) error {
	type address struct {
		Type     string `xml:"type,attr"`
		Template string `xml:"template,attr"`
	}
	description := struct {
		XMLName       xml.Name `xml:"http://a9.com/-/spec/opensearch/1.1/ OpenSearchDescription"`
		ShortName     string
		Description   string
		InputEncoding string
		URL           address `xml:"Url"`
	}{ShortName: "Quarry", Description: s.texts.mustFormat("openSearchText"), InputEncoding: "UTF-8", URL: address{"text/html", s.o.PublicURL + searchPath + "?q={searchTerms}"}}
	b, err := xml.MarshalIndent(&description, "", " ")
	if err != nil {
		return fmt.Errorf("web: opensearch: %w", err)
	}
	w.Header().Set("Content-Type", "application/opensearchdescription+xml")
	w.Header().Set("Cache-Control", "public, max-age=86400")
	_, _ = w.Write(append([]byte(xml.Header), b...)) // the browser may have disconnected
	return nil
}
