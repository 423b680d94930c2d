package outline

// word is a keyword that some grammar uses. Keywords of different languages with the same
// spelling share a word.
type word uint8

// wordTable finds a keyword by its spelling. It is an open-addressed table: a lookup
// hashes three bytes and the length, and compares one string.
type wordTable struct {
	slots  [wordSlots]wordSlot
	maxLen int
	fold   bool // lookups use lower case
	flags  [256]wordFlag
}

// wordFlag is a property of a word in a table.
type wordFlag uint16

const (
	wordReserved   wordFlag = 1 << iota // never a name
	wordKeyword                         // shown as a keyword
	wordHead                            // a rule begins with it
	wordOpens                           // opens a block
	wordOpensFirst                      // opens a block at the beginning of a statement
	wordCloses                          // closes a block
	wordBlock                           // opens a block if a rule requires it
	wordEnds                            // ends a statement
	wordContinues                       // continues the statement of the previous line
)

type wordSlot struct {
	text string
	word word
}

// wordSlots is at least four times the number of keywords of any language.
const wordSlots = 512

// newWordTable returns the table of the given keywords. It panics if one is not in the
// list of spellings, because all keywords are part of this package.
func newWordTable(words ...word) *wordTable {
	t := &wordTable{}
	for _, w := range words {
		text := spellings[w]
		if text == "" {
			panic("outline: keyword without a spelling")
		}
		t.insert(text, w)
	}
	return t
}

func (t *wordTable) insert(text string, w word) {
	t.maxLen = max(t.maxLen, len(text))
	slot := wordHash([]byte(text))
	for t.slots[slot].text != "" {
		slot = (slot + 1) % wordSlots
	}
	t.slots[slot] = wordSlot{text, w}
}

func (t *wordTable) lookupWord(b []byte) word {
	if len(b) < 2 || len(b) > t.maxLen {
		return wNone
	}
	for slot := wordHash(b); ; slot = (slot + 1) % wordSlots {
		s := &t.slots[slot]
		if s.text == string(b) {
			return s.word
		}
		if s.text == "" {
			return wNone
		}
	}
}

// lookupFold finds a keyword regardless of letter case.
func (t *wordTable) lookupFold(b []byte) word {
	var lower [maxFoldedWord]byte
	if len(b) > len(lower) {
		return wNone
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	return t.lookupWord(lower[:len(b)])
}

// maxFoldedWord is the length of the longest case-insensitive keyword.
const maxFoldedWord = 32

func wordHash(b []byte) uint {
	n := uint(len(b))
	return (uint(b[0])*37 ^ uint(b[1])*101 ^ uint(b[n-1])*11 + n*53) % wordSlots
}
