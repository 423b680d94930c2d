// Package plan turns a pattern of a query into conditions that the index and a scan of
// text can use.
//
// It answers the question "what must a text contain, and where must a search look, for
// the pattern to match?". The result, Pattern, may select too much, but never too little:
// every match of the pattern satisfies every condition of the Pattern.
// FuzzPatternIsSuperset checks this.
//
// # What is derived
//
//	Exact   the pattern is a choice among a few literals: no regular
//	        expression needs to run
//	LineStart, LineEnd, WordStart, WordEnd
//	        the pattern is a literal at the bounds of a line or a word: a scan
//	        looks at the bytes around each occurrence
//	Sets    sets of literals; every match contains a member of each set
//	        (Cox, "Regular Expression Matching with a Trigram Index", 2012,
//	        and the prefilters of RE2): a search looks up the cheapest set
//	Prefixes  a set of literals of which every match begins with one: the
//	        expression need only run where one of them occurs
//	Run     a run of bytes of one class that every match contains: a pattern
//	        such as [0-9]{16} has no literal, but skips through text in strides
//	        of the run's length (Boyer and Moore's idea, applied to a class)
//
// # Matching within lines
//
// A pattern matches within one line unless it names a line feed: as a character, alone or
// in a class, or as a dot under (?s). Classes such as \s and [^x] therefore exclude the
// line feed, as in ripgrep, and match counts equal those of ripgrep. ^ and $ are line
// anchors. If a pattern contains $ but does not name the carriage return, a carriage
// return before a line feed is not part of the line.
//
// A pattern that names the line feed, but not the carriage return, treats a carriage
// return and line feed as one line feed, so its matches do not depend on how the lines of
// a file end.
//
// # Invariants
//
//  1. Every non-empty match of Regexp, or of the literals if Exact, contains a
//     member of each set of Sets, folded if Fold; so do the bytes of the text that it
//     was read from before carriage returns were removed.
//  2. Every non-empty match contains Run.Bytes successive bytes of Run.Class.
//  3. A set has at most maxLiterals literals of at most maxLiteralBytes each.
//
// A Pattern is immutable and safe for concurrent use. The package does no I/O and does
// not depend on segments.
package plan
