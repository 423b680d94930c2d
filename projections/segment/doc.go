// Package segment holds the immutable unit of the index: a group of documents
// with their text, trigram postings and symbols, sealed as one sorted table.
//
// It answers the questions "how are documents stored so that a query reads little?"
// and "where are the documents of a segment used?" (Places). Builder makes a
// segment, Reader reads one, Cache bounds the text that readers keep decompressed.
//
// # Text space
//
// The text of a segment is one space of bytes, cut into frames of FrameBytes,
// which are compressed one by one, and into blocks of postings.BlockBytes, the
// unit of a posting:
//
//	0                        TextBytes                 TextBytes+SymbolBytes
//	| document 0 | document 1 | … | names of document 0 | names of document 1 | … |
//
// The second part is the symbol text: a line feed, then the names of the symbols of
// each document, in the order of their offsets, each followed by a line feed. A
// search among symbols is a search in that region with the same postings.
//
// # Keys
//
// Every key begins with 's' and the segment's ID, so that segments have disjoint
// ranges (KeyRange); the layout of the values is in docs/format/segment.md.
//
//	's' ID 'h'             header: format version, counts, names, page bounds
//	's' ID 'd'             documents: columns of sizes, languages, flags
//	's' ID 'k'             keys: blob IDs, 20 bytes each
//	's' ID 't'             trigram directory: trigram → place of its list
//	's' ID 'p' page(4)     postings, in pages of about PageBytes
//	's' ID 'g'             filter of grams, if Options.Grams is set
//	's' ID 'r' class(4)    levels of the longest run of a class, for each block
//	's' ID 'f' value(4)    text frames, a few to a value
//	's' ID 'y' group(4)    symbols of a group of documents
//
// # Invariants
//
//  1. Equal options and documents in equal order give equal bytes. The ID is a
//     hash of the seed and the ordered document keys.
//  2. A segment has at most postings.MaxBlocks blocks; a document is in it once.
//  3. The text at a symbol's offset is its name.
//  4. Every value is in one table block, whose checksum is verified when the block
//     is read. The decoders accept hostile bytes all the same and return ErrCorrupt.
//  5. The bytes that a Text returned stay as they are until its next method is
//     called or its Cursor closed: it holds its two frames in the Cache, whose
//     memory is not the garbage collector's (internal/framecache).
//
// A Reader is safe for concurrent use; a Builder belongs to one goroutine. A
// Reader does not know whether its documents are alive: Places does.
package segment
