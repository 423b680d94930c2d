// Package postings holds the pure parts of the trigram index: folding of text,
// extraction of trigrams, posting lists and their algebra.
//
// It answers the question "which blocks of text may contain this literal?".
// It does no I/O and knows nothing of documents, segments or Pebble.
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
//	List      an encoded posting list; the encoding is drawn in
//	          docs/format/postings.md.
//	Run       successive bytes of one class; the longest of each block are kept, so
//	          that a pattern without literals can be looked up.
//	Gram      six folded letters or underscores; a filter of those of a segment says
//	          that a word is not there without looking at any list.
//	Set       a decoded set of blocks, sparse or as a bitmap.
//
// # Invariants
//
//  1. Two texts that are equal under Unicode simple case folding fold to the
//     same bytes. Bytes that are no UTF-8 fold to themselves.
//  2. If a literal of at most OverhangBytes folded bytes occurs in the text and
//     starts in block b, every trigram of the folded literal has b in its list.
//  3. A List decodes to strictly ascending block numbers below MaxBlocks.
//     Parse and the decoders take hostile bytes and return ErrCorrupt.
//
// Values of List and the functions are safe for concurrent use; Extractor,
// Accumulator and Set belong to one goroutine.
package postings
