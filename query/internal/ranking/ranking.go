package ranking

import (
	"regexp"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Weights of the score of a file. docs/ranking.md explains them, and definitionsFill of package
// search derives bounds from them.
const (
	ScoreDefinition     = 1000 // a match is the whole name of a symbol, by its kind
	ScoreDefinitionFold = 0.75 // of that, in another letter case
	ScoreDefinitionPart = 0.15 // of that, if the match is some of the words of the name
	ScoreDefinitionBit  = 0.05 // of that, if the match cuts words of the name
	ScoreWholeWord      = 300
	ScoreWordPart       = 60 // a match consists of whole words of an identifier
	ScoreExactCase      = 60
	ScoreString         = 120 // a match is an entire string
	ScoreLineStart      = 60  // a match is the first word of its line
	ScoreFrequency      = 150
	ScorePhrase         = 900
	ScoreLine           = 500
	ScoreLines3         = 300
	ScoreRegion         = 120
	ScoreFileName       = 300 // the file is named like a term
	ScoreFileNamePart   = 80
	ScoreDepth          = -3 // for each directory of the path
	ScoreTest           = -150
	ScoreVendored       = -120
	ScoreGenerated      = -150
	ScoreProse          = -100
	ScoreArchived       = -60
	ScoreFork           = -30
	ScoreRecent         = 0.5 // per year of the last push after ScoreRecentSince; does not depend on the clock
	ScoreRecentSince    = 2000
	MaxScoreRecent      = 20

	MaxScoredDepth  = 20
	MaxScoredRanges = 256
)

// KindWeights are the weights of definitions by symbol kind, in the vocabulary of
// universal-ctags. Other kinds have KindOther.
var KindWeights = map[code.SymbolKind]float64{
	"class": 1, "struct": 1, "interface": 1, "type": 1, "trait": 1, "enum": 1, "union": 1, "typedef": 0.97, "object": 1, "record": 1, "protocol": 1,
	"function": 1, "func": 1, "method": 0.95, "macro": 0.9, "constructor": 0.8, "subroutine": 1, "procedure": 1, "generator": 1, "annotation": 1,
	"module": 0.7, "namespace": 0.5, "package": 0.5, "constant": 0.8, "variable": 0.6, "property": 0.6, "enumerator": 0.7,
	"rpc": 0.95, "callback": 0.9, "task": 0.95, "contract": 1, "message": 1, "service": 1, "actor": 1, "mixin": 1, "entity": 1, "table": 1, "view": 1,
	"extension": 0.6, "category": 0.6, "target": 0.7, "test": 0.5, "key": 0.35,
	"field": 0.45, "member": 0.45, "prototype": 0.6, "externvar": 0.4, "local": 0.2, "parameter": 0.2, "label": 0.2, "implementation": 0.6, "anonMember": 0.3,
}

// KindOther is the weight of other kinds.
const KindOther = 0.5

// KindWeight returns the weight of a definition of a kind.
func KindWeight(kind code.SymbolKind) float64 {
	if weight, ok := KindWeights[kind]; ok {
		return weight
	}
	return KindOther
}

// MinDefinedWeight is the minimum weight of kinds whose definition people look for by
// name: functions, types and variables, but not keys and fields, which repeat a name that
// is defined elsewhere in another style.
const MinDefinedWeight = 0.6

// ProseLanguages are the languages of prose.
var ProseLanguages = map[code.Language]bool{
	"": true, "Text": true, "Markdown": true, "reStructuredText": true, "HTML": true, "RDoc": true, "Gettext Catalog": true, "Roff": true,
	"Roff Manpage": true, "AsciiDoc": true, "Textile": true, "Org": true, "TeX": true, "SVG": true, "Diff": true, "Source Map": true,
}

// proseFolders contain prose, in any language.
var proseFolders = []string{
	"doc", "docs", "documentation", "releasenotes", "changelog", "changelogs", "changes", "locale",
	"demo", "demos", "example", "examples", "sample", "samples",
}

// changelog matches the name of a file that lists the changes of each release.
var changelog = regexp.MustCompile(`(?i)^(?:change-?logs?|changes|history|news|releases?|release[-_]?notes)(?:[-_.]|$)`)

// IsChangelog reports whether a file is a changelog, by its language and name.
func IsChangelog(language code.Language, path string) bool {
	return ProseLanguages[language] && changelog.MatchString(path[strings.LastIndexByte(path, '/')+1:])
}

// IsProse reports whether a file is prose, by its language or its folders. The folders of a
// package such as com.example are none of them.
func IsProse(language code.Language, path string) bool {
	if ProseLanguages[language] {
		return true
	}
	before := ""
	for folder := range strings.SplitSeq(path[:strings.LastIndexByte(path, '/')+1], "/") {
		isPackage := before == "com" || before == "org" || before == "net"
		if !isPackage && slices.ContainsFunc(proseFolders, func(p string) bool { return strings.EqualFold(folder, p) }) {
			return true
		}
		before = folder
	}
	return false
}

// Shares of the points for terms near each other. In a sentence of a manual and in the name of a
// test they are near because it is about the code, which is elsewhere.
const (
	nearProse     = 0.3
	nearChangelog = 0.2
	nearTest      = 0.6
)

// NearShare returns the share of the points for terms near each other that a file gets.
func NearShare(flags code.Flags, language code.Language, path string) float64 {
	switch {
	case IsChangelog(language, path):
		return nearChangelog
	case IsProse(language, path):
		return nearProse
	case flags&code.FlagTest != 0:
		return nearTest
	}
	return 1
}
