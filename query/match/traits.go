package match

import (
	"bytes"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TraitOf returns the condition of an is: filter. It needs no text: the index stores the
// trait, or the path and language determine it.
func TraitOf(t syntax.Trait) func(seg corpus.Segment, place int) bool {
	switch t {
	case syntax.Test:
		return hasFlag(code.FlagTest)
	case syntax.Vendored:
		return hasFlag(code.FlagVendored)
	case syntax.Generated:
		return hasFlag(code.FlagGenerated)
	}
	return func(seg corpus.Segment, place int) bool {
		switch seg.Places.Flags[place] & code.FlagNoDocumentation {
		case code.FlagDocumentation:
			return true
		case code.FlagNoDocumentation:
			return false
		}
		return documentLanguages[string(seg.Reader.Language(seg.Places.Doc[place]))] || isDocumentPath(seg.Places.Path(place))
	}
}

// hasFlag returns the condition that a file has a flag, from its place or its text.
func hasFlag(f code.Flags) func(seg corpus.Segment, place int) bool {
	return func(seg corpus.Segment, place int) bool {
		return (seg.Places.Flags[place]|seg.Reader.Flags(seg.Places.Doc[place]))&f != 0
	}
}

// documentLanguages are the languages in which documentation is written.
var documentLanguages = map[string]bool{
	"Markdown": true, "MDX": true, "reStructuredText": true, "AsciiDoc": true, "RDoc": true, "Textile": true, "Org": true, "TeX": true,
	"Text": true, "Pod": true, "Roff": true, "Roff Manpage": true, "Creole": true, "MediaWiki": true,
}

// documentFolders are the folders of documentation. documentNames are the names, up to
// the first dot, of files that document a repository.
var documentFolders, documentNames = wordSet("doc", "docs", "documentation", "javadoc", "javadocs", "man", "manual", "releasenotes"),
	wordSet("readme", "changelog", "changes", "contributing", "copying", "copyright", "license", "licence", "install", "authors", "notice", "news")

// maxDocumentName bounds the length of these names.
const maxDocumentName = 16

func wordSet(words ...string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, w := range words {
		set[w] = true
	}
	return set
}

// isDocumentPath reports whether the path of a file marks it as documentation.
func isDocumentPath(path []byte) bool {
	for {
		slash := bytes.IndexByte(path, '/')
		if slash < 0 {
			break
		}
		if hasWord(documentFolders, path[:slash]) {
			return true
		}
		path = path[slash+1:]
	}
	if dot := bytes.IndexByte(path, '.'); dot >= 0 {
		path = path[:dot]
	}
	return hasWord(documentNames, path)
}

// hasWord reports whether a set contains a word, ignoring ASCII letter case.
func hasWord(set map[string]bool, word []byte) bool {
	if len(word) > maxDocumentName {
		return false
	}
	var lower [maxDocumentName]byte
	for i, c := range word {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	return set[string(lower[:len(word)])]
}
