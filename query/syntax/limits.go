package syntax

// Bounds of a query. A text beyond one of them is an *Error.
const (
	// MaxQueryBytes bounds the text of a query, in bytes.
	MaxQueryBytes = 64 << 10
	// MaxTerms bounds the leaves of a tree.
	MaxTerms = 1000
	// MaxDepth bounds how deep groups and negations nest.
	MaxDepth = 100
	// MaxRegexpInstructions bounds the size of the compiled regular expressions of a query, all together, counted in
	// instructions before anything is compiled: an instruction is about 40 bytes, so this is some 4 MB.
	MaxRegexpInstructions = 100_000
	// MaxUnicodeClasses bounds the \p and \P escapes of a query: each one unfolds into some thousand ranges while a
	// class is read, before its size can be counted.
	MaxUnicodeClasses = 50
	// MaxNotices bounds the notices of a query.
	MaxNotices = 10
	// MaxSuggestions bounds the suggestions of a notice.
	MaxSuggestions = 5
)

// maxScanBytes bounds the bytes looked at while searching for closing brackets. It is reached only by texts made to
// reach it: each level of nesting costs one look at the text.
const maxScanBytes = (MaxDepth + 2) * MaxQueryBytes
