package postings

// A RunClass is a class of bytes whose longest run is kept for each block: so a
// pattern such as [0-9]{16}, which has no literal, can be looked up.
type RunClass uint8

// The classes, from the rarest bytes to the most common.
const (
	RunForeign RunClass = iota // bytes outside ASCII
	RunDigit                   // 0-9
	RunHex                     // 0-9 a-f A-F
	RunUpper                   // A-Z 0-9 _
	RunWord                    // A-Z a-z 0-9 _ and bytes outside ASCII
	RunBase64                  // A-Z a-z 0-9 _ - + / =
	RunClasses                 // how many there are
)

// MaxRun is the length from which on runs are not distinguished: a block sees no
// more of the bytes that follow it.
const MaxRun = OverhangBytes

// runLevels are the lengths that are distinguished: level i means at least that
// many bytes, and fewer than level i+1.
var runLevels = [16]int{0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, MaxRun}

// runMinimum is the length below which a run of a class is everywhere, and not
// recorded. The common classes begin late: to find a run of n bytes, every n'th
// is looked at.
var runMinimum = [RunClasses]int{4, 8, 8, 12, 24, 32}

var runTable = newRunTable()

func newRunTable() (table [RunClasses][256]bool) {
	for c := range 256 {
		b := byte(c)
		digit, upper, lower := b >= '0' && b <= '9', b >= 'A' && b <= 'Z', b >= 'a' && b <= 'z'
		word := digit || upper || lower || b == '_'
		table[RunForeign][c] = b >= 0x80
		table[RunDigit][c] = digit
		table[RunHex][c] = digit || FoldByte(b) >= 'a' && FoldByte(b) <= 'f'
		table[RunUpper][c] = digit || upper || b == '_'
		table[RunWord][c] = word || b >= 0x80
		table[RunBase64][c] = word || b == '-' || b == '+' || b == '/' || b == '='
	}
	return table
}

// Runs returns the level of the longest run of each class among those that start
// in a block: the first block bytes of window, of which MaxRun more are looked at.
func Runs(window []byte, block int) (levels [RunClasses]byte) {
	window = window[:min(len(window), block+MaxRun)]
	for c := RunHex; c < RunClasses; c++ {
		levels[c] = runLevel(longestRun(window, 0, block, runMinimum[c], &runTable[c]))
	}
	// Most text has no byte outside ASCII, which is quickly seen; and a long run of
	// digits is one of hexadecimal digits.
	first := min(IndexForeign(window, 0), block)
	levels[RunForeign] = runLevel(longestRun(window, first, block, runMinimum[RunForeign], &runTable[RunForeign]))
	if levels[RunHex] > 0 {
		levels[RunDigit] = runLevel(longestRun(window, 0, block, runMinimum[RunDigit], &runTable[RunDigit]))
	}
	return levels
}

// longestRun returns the length of the longest run of class that starts at or after
// from and before block and has at least least bytes, or 0. It need not distinguish lengths
// beyond MaxRun.
func longestRun(text []byte, from, block, least int, class *[256]bool) int {
	longest := 0
	for from < block && longest < MaxRun {
		start := NextRun(text, from, max(least, longest+1), class)
		if start < 0 || start >= block {
			break
		}
		end := start
		for end < len(text) && class[text[end]] {
			end++
		}
		longest, from = end-start, end
	}
	return longest
}

func runLevel(n int) byte {
	level := len(runLevels) - 1
	for runLevels[level] > n {
		level--
	}
	return byte(level)
}

// NextRun returns the start of the first run of n successive bytes of class at or
// after from, or -1. It looks at every n'th byte, and goes back only from one that
// is in the class (Boyer and Moore's idea, on a class).
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

// RunQuery says which blocks can start a run: those with at least a level of a
// class.
type RunQuery struct {
	Class RunClass
	level byte
}

// FindRun returns the lookup for a run of n bytes of class; ok is false if no class
// narrows it.
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

// AppendRunLevel appends the level of the next block, the n'th, to a column of
// them: four bits each, the first in the low ones.
func AppendRunLevel(column []byte, n int, level byte) []byte {
	if n%2 == 0 {
		return append(column, level)
	}
	column[len(column)-1] |= level << 4
	return column
}

// RunBytes returns the size of a column of levels.
func RunBytes(blocks int) int { return (blocks + 1) / 2 }

// Blocks returns the blocks that can start the run, by the column of its class,
// which has RunBytes(blocks) bytes.
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

// chooseForm returns the set in the form for its size.
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
