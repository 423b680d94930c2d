package outline

// word is a keyword that some grammar looks at. Keywords of different languages
// that are spelled alike share a word.
type word uint8

// wordTable finds a keyword by its spelling. It is an open-addressed table: a
// look-up hashes three bytes and the length, and compares one string.
type wordTable struct {
	slots  [wordSlots]wordSlot
	maxLen int
	fold   bool // words are looked up in lower case
	flags  [256]wordFlag
}

// wordFlag says what a word of a table is for.
type wordFlag uint16

const (
	wordReserved   wordFlag = 1 << iota // never a name
	wordKeyword                         // shown as a keyword
	wordHead                            // some rule begins with it
	wordOpens                           // opens a block
	wordOpensFirst                      // opens a block at the beginning of a statement
	wordCloses                          // closes a block
	wordBlock                           // opens a block where a rule says so
	wordEnds                            // ends a statement
	wordContinues                       // goes on with the statement of the line before
)

type wordSlot struct {
	text string
	word word
}

// wordSlots is at least four times the number of keywords of any language.
const wordSlots = 512

// newWordTable returns the table of the given keywords. It panics if one is not
// in the list of spellings, which is a mistake in this package's own tables.
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

// lookupFold finds a keyword that is written in any case.
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

// maxFoldedWord is the length of the longest keyword that is written in any case.
const maxFoldedWord = 32

func wordHash(b []byte) uint {
	n := uint(len(b))
	return (uint(b[0])*37 ^ uint(b[1])*101 ^ uint(b[n-1])*11 + n*53) % wordSlots
}
