package postings

// RunClass is a class of bytes whose longest run is recorded for each block, so that a
// pattern without a literal, such as [0-9]{16}, can be looked up.
type RunClass uint8

// The classes, from the rarest bytes to the most common.
const (
	RunForeign RunClass = iota // bytes outside ASCII
	RunDigit                   // 0-9
	RunHex                     // 0-9 a-f A-F
	RunUpper                   // A-Z 0-9 _
	RunWord                    // A-Z a-z 0-9 _ and bytes outside ASCII
	RunBase64                  // A-Z a-z 0-9 _ - + / =
	RunClasses                 // number of classes
)

// MaxRun is the length from which runs are not distinguished, because a block sees only
// that many of the bytes that follow it.
const MaxRun = OverhangBytes

// runLevels are the distinguished lengths: level i means at least runLevels[i] bytes, and
// fewer than those of level i+1.
var runLevels = [16]int{0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, MaxRun}

// runStep divides the levels and the minimums.
const runStep = 4

// runMinimum is the length below which runs of a class occur everywhere and are not
// recorded. It is high for common classes, because a search for a run of n bytes checks
// every n-th byte.
var runMinimum = [RunClasses]int{4, 8, 8, 12, 24, 32}

// runTable is the set of bytes of each class, which classify defines.
var runTable = newRunTable()

func newRunTable() (table [RunClasses][256]bool) {
	var text [256]byte
	for b := range text {
		text[b] = byte(b)
	}
	var c byteClasses
	c.classify(text[:])
	for class := range RunClasses {
		for b := range text {
			table[class][b] = c.runs[class][b/64]>>(b%64)&1 != 0
		}
	}
	return table
}

// longestRuns returns the level of the longest run of each class that starts in a block of a
// length.
func (c *byteClasses) longestRuns(block int) (levels [RunClasses]byte) {
	for class := range RunClasses {
		levels[class] = runLevel(c.runs[class].longestRun(block, runMinimum[class]))
	}
	return levels
}

func runLevel(n int) byte {
	level := len(runLevels) - 1
	for runLevels[level] > n {
		level--
	}
	return byte(level)
}

// NextRun returns the start of the first run of n successive bytes of class at or after
// from, or -1. It checks every n-th byte, and goes back only from a byte in the class
// (the idea of Boyer and Moore, applied to a class).
func NextRun(text []byte, from, n int, class *[256]bool) int {
	for at := from + n - 1; at < len(text); {
		if !class[text[at]] {
			from = at + 1
			at += n
			continue
		}
		low := at
		for low > from && at-low < n-1 && class[text[low-1]] {
			low--
		}
		high := at
		for high-low < n-1 && high+1 < len(text) && class[text[high+1]] {
			high++
		}
		if high-low == n-1 {
			return low
		}
		from = high + 1
		at = from + n
	}
	return -1
}

// RunQuery selects the blocks in which a run can start: those with at least a given level
// of a class.
type RunQuery struct {
	Class RunClass
	level byte
}

// FindRun returns the query for a run of n bytes of class. ok is false if no recorded
// class narrows the search.
func FindRun(class *[256]bool, n int) (q RunQuery, ok bool) {
	for c := range RunClasses {
		if n >= runMinimum[c] && containsAll(&runTable[c], class) {
			return RunQuery{c, runLevel(n)}, true
		}
	}
	return RunQuery{}, false
}

func containsAll(all, some *[256]bool) bool {
	for i, in := range some {
		if in && !all[i] {
			return false
		}
	}
	return true
}

// AppendRunLevel appends the level of block n, the next one, to a column of levels with
// four bits each, the first in the low bits.
func AppendRunLevel(column []byte, n int, level byte) []byte {
	if n%2 == 0 {
		return append(column, level)
	}
	column[len(column)-1] |= level << 4
	return column
}

// RunBytes returns the size of a column of levels.
func RunBytes(blocks int) int { return (blocks + 1) / 2 }

// Blocks returns the blocks in which the run can start, according to the column of its
// class, which has RunBytes(blocks) bytes.
func (q RunQuery) Blocks(column []byte, blocks int) Set {
	s := Set{blocks: blocks}
	for i, pair := range column {
		if pair&15 >= q.level && 2*i < blocks {
			s.sparse = append(s.sparse, uint32(2*i))
		}
		if pair>>4 >= q.level && 2*i+1 < blocks {
			s.sparse = append(s.sparse, uint32(2*i+1))
		}
	}
	return s.chooseForm()
}

// chooseForm returns the set in the representation for its size.
func (s *Set) chooseForm() Set {
	if len(s.sparse) <= s.blocks/sparseShare {
		return *s
	}
	d := Set{dense: make([]uint64, (s.blocks+63)/64), blocks: s.blocks}
	for _, b := range s.sparse {
		d.dense[b/64] |= 1 << (b % 64)
	}
	return d
}
