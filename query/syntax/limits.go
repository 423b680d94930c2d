package syntax

// Bounds of a query. A text that exceeds one of them is an *Error.
const (
	// MaxQueryBytes bounds the text of a query, in bytes.
	MaxQueryBytes = 64 << 10
	// MaxTerms bounds the leaves of a tree.
	MaxTerms = 1000
	// MaxDepth bounds how deep groups and negations nest.
	MaxDepth = 100
	// MaxRegexpInstructions bounds the total size of the compiled regular expressions of
	// a query. Instructions are counted before anything is compiled; one takes about 40
	// bytes, so the bound is about 4 MB.
	MaxRegexpInstructions = 100_000
	// MaxUnicodeClasses bounds the \p and \P escapes of a query: each expands to
	// thousands of ranges while a class is parsed, before its size can be counted.
	MaxUnicodeClasses = 50
	// MaxPredicates bounds the predicates on repositories and owners, each of which is a
	// search.
	MaxPredicates = 10
	// MaxNotices bounds the notices of a query.
	MaxNotices = 10
	// MaxSuggestions bounds the suggestions of a notice.
	MaxSuggestions = 5
)

// maxScanBytes bounds the bytes read in the search for closing brackets. Only texts
// crafted for it reach the bound: each level of nesting costs one pass over the text.
const maxScanBytes = (MaxDepth + 2) * MaxQueryBytes
