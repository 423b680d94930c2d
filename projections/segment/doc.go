// Package segment implements the immutable unit of the index: a group of documents with
// their text, trigram postings and symbols, sealed as one sorted table.
//
// It answers the questions "how are documents stored so that a query reads little?" and
// "where are the documents of a segment used?" (Places). Builder builds a segment, Reader
// reads one, Cache bounds the decompressed text and symbols of readers.
//
// # Text space
//
// The text of a segment is one space of bytes. It is divided into frames of FrameBytes,
// which are compressed separately, and into blocks of postings.BlockBytes, the unit of a
// posting:
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
//	's' ID 't'             trigram directory: trigram or capital pair → place of its list
//	's' ID 'n' page(4)     definitions: hash of a name → documents and kinds
//	's' ID 'p' page(4)     postings, in pages of about PageBytes
//	's' ID 'g'             filter of grams, if Options.Grams is set
//	's' ID 'r' class(4)    levels of the longest run of a class, for each block
//	's' ID 'f' value(4)    text frames, a few to a value
//	's' ID 'y' group(4)    symbols of a group of documents
//
// # Invariants
//
//  1. Equal options and documents in equal order yield equal bytes. The ID is a hash of
//     the seed and the ordered document keys.
//  2. A segment has at most postings.MaxBlocks blocks, and contains a document only once.
//  3. The text at a symbol's offset is its name.
//  4. Every value is in one table block, whose checksum is verified when the block is
//     read. Nevertheless the decoders accept hostile bytes and return ErrCorrupt, of which
//     a Reader informs its source (DamageNoter), so that the segment is restored.
//  5. The bytes that a Text returns stay unchanged until its next method call or until
//     its Cursor is closed: it holds its two frames in the Cache, whose memory the
//     garbage collector does not manage (internal/framecache).
//
// A Reader is safe for concurrent use; a Builder is not. A Reader does not know which of
// its documents are live; Places does.
package segment
