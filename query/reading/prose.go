package reading

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/quarrysearch/quarry/query/syntax"
)

const (
	// minProseWords is the minimum number of words of a prose query that have a meaning
	// without the others; for a sentence, one less suffices.
	minProseWords = 3
	// minGroupedWords is the number for a text with groups that has operators or is no
	// sentence.
	minGroupedWords = 5
	// minPlainShare is the minimum percentage of the text's fields that are plain words, and
	// minSentenceShare that of a text with function words.
	minPlainShare, minSentenceShare = 60, 50
	// MaxProseWords bounds the words of a prose query that are searched for.
	MaxProseWords = 12
	// maxProseBytes bounds the text of a prose query that is read, and minStem is the
	// minimum length of a stem.
	maxProseBytes = 2 << 10
	minStem       = 3
)

// Prose is a query of plain words, such as a question or the subject of a commit.
type Prose struct {
	Text    string
	At      syntax.Span
	Filters []syntax.Query
	// Words are the words that have a meaning without the others, in order.
	Words []ProseWord
	// Sentence means that the text has other words, too, and Question that it asks
	// something.
	Sentence, Question bool
}

// ProseWord is a word of a query and what its forms have in common.
type ProseWord struct {
	Written string
	// Stem is in lower case, without the ending. Endings are the endings, one of which
	// follows in a text; empty if any text may follow.
	Stem    string
	Endings []string
}

// ReadProse returns the words of a query if it consists of plain words, or nil.
func ReadProse(q *syntax.Parsed) *Prose {
	if q.Type != syntax.TypeDefault || q.Select != syntax.SelectDefault || q.Text == "" || caseSetting.MatchString(q.Text) {
		return nil
	}
	shape := inspectLeaves(q)
	if shape.keyword || shape.words < minProseWords-1 {
		return nil
	}
	cut := cutFilters(q)
	if cut == nil || len(cut.Text) > maxProseBytes || querySigns.MatchString(cut.Text) {
		return nil
	}
	plain, fields := 0, strings.Fields(cut.Text)
	empty := 0
	for _, field := range fields {
		if plainField.MatchString(field) {
			plain++
		}
		if lower := strings.ToLower(field); emptyWords[lower] && lower != "or" && lower != "and" && lower != "not" {
			empty++
		}
	}
	share := minPlainShare
	if empty > 0 {
		share = minSentenceShare
	}
	if 100*plain < share*len(fields) || shape.operators && empty == 0 {
		return nil // code, or a query with operators
	}
	p := &Prose{Text: cut.Text, At: cut.At, Filters: cut.Filters, Question: question.MatchString(cut.Text)}
	if p.readWords(weakWords); len(p.Words) < minProseWords {
		p.readWords(nil)
	}
	least := minProseWords
	switch {
	case operatorSigns.MatchString(p.Text) && (shape.operators || !p.Sentence):
		least = minGroupedWords
	case p.Question, p.Sentence:
		least--
	}
	if len(p.Words) < least {
		return nil
	}
	return p
}

// querySigns match operators in capitals, negated terms, and signs that stand alone only
// in code.
var querySigns = regexp.MustCompile(`\b(?:OR|AND|NOT)\b|(?:^|\s)-["\pL]|(?:^|\s)[{}=;<>|!]+(?:\s|$)`)

// question matches the beginning or the end of a question.
var question = regexp.MustCompile(`^(?i)(?:how|where|what|which|who|why|when) [a-z]|\pL\?$`)

// plainField matches a word, perhaps in quotes or with punctuation after it.
var plainField = regexp.MustCompile("^[(\\[\"'`]?\\pL[\\pL\\pN'_-]*[)\\]\"'`.,:;?!]*$")

var proseWord = regexp.MustCompile(`[\pL\pN_]+(?:-[\pL\pN_]+)*`)

// readWords sets Words to the words of the text, without function words and those of a
// further list.
func (p *Prose) readWords(without map[string]bool) {
	p.Words = p.Words[:0]
	text := strings.ReplaceAll(p.Text, "'s ", " ")
	for _, written := range proseWord.FindAllString(text, -1) {
		lower := strings.ToLower(written)
		p.Sentence = p.Sentence || emptyWords[lower] || weakWords[lower]
		if emptyWords[lower] || without[lower] || len(written) < 2 || !strings.ContainsFunc(written, unicode.IsLetter) || len(p.Words) == MaxProseWords {
			continue
		}
		w := ProseWord{Written: written}
		w.Stem, w.Endings = stem(written)
		if !slices.ContainsFunc(p.Words, func(other ProseWord) bool { return other.Stem == w.Stem }) {
			p.Words = append(p.Words, w)
		}
	}
}

// Expression returns a regular expression for the forms of a word, or "" if every text
// with the stem is a form.
func (w *ProseWord) Expression() string {
	if len(w.Endings) == 0 {
		return ""
	}
	return regexp.QuoteMeta(w.Stem) + "(?:" + strings.Join(w.Endings, "|") + ")"
}

// stem returns what the forms of an English word have in common. Names, which have
// capitals inside, digits or underscores, are their own stems.
func stem(written string) (string, []string) {
	word := strings.ToLower(written)
	for i := range len(written) {
		if c := written[i]; c < 'A' || c > 'z' || c > 'Z' && c < 'a' || i > 0 && c <= 'Z' {
			return word, nil
		}
	}
	for _, ending := range []string{"y", "ies", "ied"} {
		if s, ok := strings.CutSuffix(word, ending); ok && len(s) >= minStem && !strings.ContainsAny(s[len(s)-1:], "aeou") {
			return s, []string{"y", "ies", "ied"}
		}
	}
	for _, e := range endings {
		s, ok := strings.CutSuffix(word, e.ending)
		if !ok || len(s) < max(e.least, minStem) {
			continue
		}
		if e.doubles && len(s) > minStem && s[len(s)-1] == s[len(s)-2] && !strings.ContainsAny(s[len(s)-1:], "aeiolsz") {
			s = s[:len(s)-1]
		}
		if e.ending == "s" && strings.HasSuffix(s, "s") {
			break // process
		}
		if b, ok := strings.CutSuffix(s, "e"); ok && sibilant.MatchString(b) {
			s = b // processes
		}
		word = s
		break
	}
	if s, ok := strings.CutSuffix(word, "e"); ok && len(s) > minStem {
		word = s
	}
	return word, nil
}

// sibilant matches a stem whose plural ends in es.
var sibilant = regexp.MustCompile(`(?:ss|sh|ch|x)$`)

// endings are removed from words that keep at least a number of letters. Those that may
// double the last consonant, as in stopped, undo that.
var endings = []struct {
	ending  string
	least   int
	doubles bool
}{
	{"ations", 4, false}, {"ation", 4, false}, {"tions", 4, false}, {"ings", 4, true}, {"ing", 3, true}, {"edly", 4, true}, {"ed", 3, true},
	{"ions", 5, false}, {"ion", 5, false},
	{"ments", 4, false}, {"ment", 4, false}, {"ness", 4, false}, {"ly", 4, false}, {"ers", 4, false}, {"s", 3, false},
}

// wordSet returns the words of a text as a set.
func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		set[w] = true
	}
	return set
}

// emptyWords have no meaning without others. weakWords are verbs that say little about
// the place where something happens.
var (
	emptyWords = wordSet(`a about above after again all already also always am an and another any anyone anything are aren as at be because been
		before being below between both but by can cannot could couldn did didn do does doesn doing don down due during each either else etc even ever
		every few for from further get gets getting give given go goes got had hadn happen happens has hasn have haven having he her here hers him his how
		i if in instead into is isn it its itself just know let like ll look many may me might more most much must my need needs neither no nor not now of
		off often on once one only onto or other others our out over own per place please re same shall she should shouldn show since so some someone
		something somewhere still such sure take takes than that the their them themselves then there these they thing things this those through thus to
		too toward under until up upon us ve very via want wants was wasn way we were weren what when where whether which while who whom whose why will with
		within without won would wouldn yet you your`)
	weakWords = wordSet(`add added adding adds adjust allow allowed allows apply avoid avoids better bump change changed changes clean cleanup close
		closes code correct correctly create defined ensure ensures expose feat feature file files find fix fixed fixes fixing found handle handled handles
		happening implement implemented improve improved introduce make makes making minor move moved new old properly refactor remove removed removes
		removing rename replace revert simplify support supports test tests update updated updates use used uses using work works`)
)
