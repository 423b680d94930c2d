// Package postings implements the pure parts of the trigram index: folding of text,
// extraction of trigrams, posting lists and set operations on them.
//
// It answers the question "which blocks of text may contain this literal?". It does no
// I/O and does not depend on documents, segments or Pebble.
//
// # Terms
//
//	block     BlockBytes bytes of a segment's text space; the unit that a
//	          posting points to. A block's trigrams are those of the block and
//	          of the OverhangBytes folded bytes after it, so a literal whose
//	          first OverhangBytes bytes are indexed is found in the block where
//	          it starts.
//	Trigram   three folded bytes, the first in the highest byte.
//	Fold      the canonical representative of a rune among those that are equal
//	          under Unicode simple case folding: the lower-case ASCII letter if
//	          there is one, else the smallest rune. One list serves both cases;
//	          the exact case is checked on the text.
//	Pair      two letters of unfolded text with a capital; its blocks are listed as
//	          well, so that text in letter case is found (capitals.go).
//	List      an encoded posting list; the encoding is described in
//	          docs/format/postings.md.
//	Run       successive bytes of one class; the longest of each block are kept, so
//	          that a pattern without literals can be looked up.
//	Gram      six folded letters or underscores; a filter of a segment's grams shows
//	          that it lacks a word, without reading any list.
//	Set       a decoded set of blocks, sparse or as a bitmap.
//
// # Invariants
//
//  1. Two texts that are equal under Unicode simple case folding fold to the same bytes.
//     Bytes that are not UTF-8 fold to themselves.
//  2. If a literal of at most OverhangBytes folded bytes occurs in the text and starts in
//     block b, the list of every trigram of the folded literal contains b.
//     So do those of the capital pairs of the literal as it is written.
//  3. A List decodes to strictly ascending block numbers below MaxBlocks. ParseList and
//     the decoders accept hostile bytes and return ErrCorrupt.
//
// Lists and the functions are safe for concurrent use; an Accumulator or Set is not.
package postings
