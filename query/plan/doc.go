// Package plan turns a pattern of a query into what the index and a scan of
// text can use.
//
// It answers the question "what must a text contain, and where do we have to
// look, for the pattern to match?". Its result, Pattern, always says too little
// rather than too much: whatever the pattern matches satisfies every condition
// that the Pattern names. FuzzPatternIsSuperset holds it to that.
//
// # What is derived
//
//	Exact   the pattern is a choice among a few literals: no regular
//	        expression needs to run at all
//	Sets    sets of literals, of each of which every match contains one
//	        (Cox, "Regular Expression Matching with a Trigram Index", 2012,
//	        and the prefilters of RE2): a search looks up the cheapest set
//	Run     a run of bytes of one class that every match contains: a pattern
//	        such as [0-9]{16} has no literal, but skips through text by strides
//	        of the run's length (Boyer and Moore's idea, on a class)
//
// # Matching within lines
//
// A pattern matches within one line unless it names a line feed itself: as a
// character, alone or in a class, or as a dot under (?s). So classes such as \s and
// [^x] are read without the line feed, as ripgrep does; the counts are equal to
// those of ripgrep. ^ and $ are line anchors; for a pattern with $ that does not
// name the carriage return, one before a line feed is not part of the line.
//
// A pattern that names the line feed, but not the carriage return, reads a carriage
// return and line feed as one line feed: what it finds does not depend on how the
// lines of a file end.
//
// # Invariants
//
//  1. Every non-empty match of Regexp, or of the literals if Exact, contains a
//     member of each set of Sets, folded if Fold; so do the bytes of the text it
//     was read from, where carriage returns were left out.
//  2. Every non-empty match contains Run.Bytes successive bytes of Run.Class.
//  3. At most maxLiterals literals in a set, of at most maxLiteralBytes.
//
// A Pattern is immutable and safe for concurrent use. The package does no I/O
// and knows nothing of segments.
package plan
