package segment

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Source provides the keys of segments. *pebble.DB implements it.
type Source interface {
	// Get returns the value of key, valid until closer is closed.
	Get(key []byte) (value []byte, closer io.Closer, err error)
}

// A DamageNoter is a Source that is informed of segments whose bytes are corrupted.
type DamageNoter interface {
	// NoteDamage may be called repeatedly and concurrently for a segment. It must not block.
	NoteDamage(id ID, err error)
}

// Reader reads one segment. It keeps the document table and the trigram directory in
// memory, about 15 bytes for each document and 8 for each distinct trigram, and reads
// everything else on demand. It is safe for concurrent use. It need not be closed, unlike
// its source.
type Reader struct {
	id    ID
	src   Source
	cache *Cache
	// number distinguishes its frames in the cache from those of other readers.
	number uint32
	head   *header
	docs   *documentTable
	dir    *directory
	size   int64
	// grams is nil until its first use.
	grams atomic.Pointer[postings.GramFilter]
}

// Open reads the resident parts of a segment. Frames are cached in c, which readers
// share; if c is nil, they are not cached.
func Open(src Source, id ID, c *Cache) (*Reader, error) {
	r := &Reader{id: id, src: src, cache: c, number: c.nextReader()}
	if err := r.loadParts(); err != nil {
		return nil, fmt.Errorf("open segment %s: %w", id, err)
	}
	return r, nil
}

func (r *Reader) loadParts() error {
	if err := r.withPart(partKey(r.id, partHeader), func(b []byte) (err error) {
		r.head, err = decodeHeader(b)
		return err
	}); err != nil {
		return err
	}
	if err := r.withPart(partKey(r.id, partDocuments), func(b []byte) (err error) {
		r.docs, err = decodeDocuments(b, r.head)
		return err
	}); err != nil {
		return err
	}
	return r.withPart(partKey(r.id, partDirectory), func(b []byte) (err error) {
		r.dir, err = decodeDirectory(b, r.head)
		return err
	})
}

// withPart calls use with the value of key.
func (r *Reader) withPart(key []byte, use func([]byte) error) error {
	b, closer, err := r.src.Get(key)
	if err != nil {
		return fmt.Errorf("read part %q: %w", key[partAt:], err)
	}
	err = use(b)
	if closeErr := closer.Close(); err == nil {
		err = closeErr
	}
	return err
}

// NoteDamage informs the source, if it is a DamageNoter, that a read returned err, which is
// the error of the source for a damaged file or that of a malformed posting list. The reader
// itself informs it of ErrCorrupt.
func (r *Reader) NoteDamage(err error) {
	if n, ok := r.src.(DamageNoter); ok {
		n.NoteDamage(r.id, err)
	}
}

// noteCorrupt calls NoteDamage if err is ErrCorrupt. It returns err.
func (r *Reader) noteCorrupt(err error) error {
	if errors.Is(err, ErrCorrupt) {
		r.NoteDamage(err)
	}
	return err
}

// ID returns the segment's ID.
func (r *Reader) ID() ID { return r.id }

// Documents returns the number of documents.
func (r *Reader) Documents() int { return r.head.documents }

// Keys returns the keys of all documents, in order.
func (r *Reader) Keys() ([]code.DocumentKey, error) {
	keys := make([]code.DocumentKey, r.head.documents)
	err := r.withPart(partKey(r.id, partKeys), func(b []byte) error {
		if len(b) != len(keys)*len(code.BlobID{}) {
			return fmt.Errorf("%w: keys", ErrCorrupt)
		}
		for i := range keys {
			keys[i].Blob = code.BlobID(b[i*len(code.BlobID{}):])
			keys[i].Language = r.Language(DocID(i))
		}
		return nil
	})
	return keys, r.noteCorrupt(err)
}

// Key returns the key of a document.
func (r *Reader) Key(c *Cursor, d DocID) (code.DocumentKey, error) {
	key := code.DocumentKey{Language: r.Language(d)}
	b, err := c.readPart(r, partKeys)
	if err != nil {
		return key, err
	}
	if len(b) != r.head.documents*len(key.Blob) {
		return key, r.noteCorrupt(fmt.Errorf("%w: keys", ErrCorrupt))
	}
	key.Blob = code.BlobID(b[int(d)*len(key.Blob):])
	return key, nil
}

// Language returns the language of a document.
func (r *Reader) Language(d DocID) code.Language {
	return code.Language(r.head.languages[r.docs.language[d]])
}

// Languages returns the languages that occur in the segment, in the order of
// LanguageIndex.
func (r *Reader) Languages() []string { return r.head.languages }

// Kinds returns the kinds of symbols and of their parents.
func (r *Reader) Kinds() []string { return r.head.kinds }

// LanguageIndex returns the index of a document's language in Languages.
func (r *Reader) LanguageIndex(d DocID) int { return int(r.docs.language[d]) }

// Flags returns the flags of a document.
func (r *Reader) Flags(d DocID) code.Flags { return r.docs.flags[d] }

// TextRange returns the range of a document in the text space.
func (r *Reader) TextRange(d DocID) (lo, hi int) {
	return int(r.docs.text[d]), int(r.docs.text[d+1])
}

// SymbolRange returns the range of the names of a document's symbols in the text space.
func (r *Reader) SymbolRange(d DocID) (lo, hi int) {
	return int(r.docs.symbolText[d]), int(r.docs.symbolText[d+1])
}

// TextEnd returns the offset at which the documents end and the symbol text begins.
func (r *Reader) TextEnd() int { return r.head.textBytes }

// SpaceEnd returns the size of the text space.
func (r *Reader) SpaceEnd() int { return r.head.textBytes + r.head.symbolBytes }

// Blocks returns the number of blocks of the text space.
func (r *Reader) Blocks() int {
	return (r.SpaceEnd() + postings.BlockBytes - 1) / postings.BlockBytes
}

// DocumentAt returns the document whose text contains an offset of the text space.
func (r *Reader) DocumentAt(offset int) DocID { return DocID(lastAtMost(r.docs.text, uint32(offset))) }

// DocumentOfSymbol returns the document whose symbol text contains that offset.
func (r *Reader) DocumentOfSymbol(offset int) DocID {
	return DocID(lastAtMost(r.docs.symbolText, uint32(offset)))
}

// ListRef is the location of a trigram's posting list in a segment. The zero ListRef
// means no list.
type ListRef struct{ start, size uint32 }

// Bytes returns the size of the encoded list, 0 if no block contains the trigram. A
// longer list has more blocks, up to the size of a bitmap.
func (l ListRef) Bytes() int { return int(l.size) }

// FindList looks up the posting list of a trigram.
func (r *Reader) FindList(t postings.Trigram) ListRef {
	start, size := r.dir.findList(t)
	return ListRef{start, size}
}

// HasCapitalPairs reports whether the segment has the lists of capital pairs and of
// postings.LongLines, which format versions 3 and 4 do not have.
func (r *Reader) HasCapitalPairs() bool { return r.head.version > versionWithoutCapitals }

// List reads a posting list found by FindList. It is valid until the next call of a
// method of c.
func (r *Reader) List(c *Cursor, l ListRef) (postings.List, error) {
	page := lastAtMost(r.head.pageStart, l.start)
	at := l.start - r.head.pageStart[page]
	b, err := c.readNumbered(r, partPage, uint32(page))
	if err != nil {
		return postings.List{}, err
	}
	if uint64(at)+uint64(l.size) > uint64(len(b)) {
		return postings.List{}, r.noteCorrupt(fmt.Errorf("%w: page %d", ErrCorrupt, page))
	}
	return postings.ParseList(b[at : at+l.size])
}

// Runs returns the blocks in which a run of bytes of a class can start.
func (r *Reader) Runs(c *Cursor, q postings.RunQuery) (postings.Set, error) {
	column, err := c.readNumbered(r, partRuns, uint32(q.Class))
	if err != nil {
		return postings.Set{}, err
	}
	if len(column) != postings.RunBytes(r.Blocks()) {
		return postings.Set{}, r.noteCorrupt(fmt.Errorf("%w: runs", ErrCorrupt))
	}
	return q.Blocks(column, r.Blocks()), nil
}

// Text returns the text of a document. The result may use buf, and is not shared.
func (r *Reader) Text(d DocID, buf []byte) ([]byte, error) {
	var c Cursor
	lo, hi := r.TextRange(d)
	b, err := NewText(r, &c).Bytes(lo, hi)
	return append(buf[:0], b...), errors.Join(err, c.Close())
}

// ReadDocument reads the document d, whose key is known, for another Builder. Its text is
// valid until the next read from t.
func ReadDocument(r *Reader, t *Text, d DocID, key code.DocumentKey) (Document, error) {
	symbols, err := r.Symbols(d)
	if err != nil {
		return Document{}, err
	}
	text, err := t.Bytes(r.TextRange(d))
	return Document{Key: key, Flags: r.Flags(d), Text: text, Symbols: symbols}, err
}
