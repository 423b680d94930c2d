package segment

import (
	"fmt"
	"io"

	"github.com/quarrysearch/quarry/projections/postings"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Source is where the keys of segments are read from; *pebble.DB is one.
type Source interface {
	// Get returns the value of key, valid until closer is closed.
	Get(key []byte) (value []byte, closer io.Closer, err error)
}

// A Reader reads one segment. It keeps the document table and the trigram
// directory in memory, about 15 bytes for each document and 8 for each distinct
// trigram, and reads everything else when asked. It is safe for concurrent use
// and needs no closing: its source does.
type Reader struct {
	id    ID
	src   Source
	cache *Cache
	head  *header
	docs  *documentTable
	dir   *directory
	size  int64
}

// Open reads the resident parts of a segment. Frames read later are kept in c,
// which readers share; nil keeps none.
func Open(src Source, id ID, c *Cache) (*Reader, error) {
	r := &Reader{id: id, src: src, cache: c}
	if err := r.load(); err != nil {
		return nil, fmt.Errorf("open segment %s: %w", id, err)
	}
	return r, nil
}

func (r *Reader) load() error {
	if err := r.value(partKey(r.id, partHeader), func(b []byte) (err error) {
		r.head, err = decodeHeader(b)
		return err
	}); err != nil {
		return err
	}
	if err := r.value(partKey(r.id, partDocuments), func(b []byte) (err error) {
		r.docs, err = decodeDocuments(b, r.head)
		return err
	}); err != nil {
		return err
	}
	return r.value(partKey(r.id, partDirectory), func(b []byte) (err error) {
		r.dir, err = decodeDirectory(b, r.head)
		return err
	})
}

// value calls use with the value of key.
func (r *Reader) value(key []byte, use func([]byte) error) error {
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

// Meta describes the segment. SizeBytes is only known of a segment opened with
// OpenFile.
func (r *Reader) Meta() Meta {
	return Meta{
		ID: r.id, SizeBytes: r.size, TextBytes: int64(r.head.textBytes),
		Documents: r.head.documents, Symbols: r.head.symbols,
	}
}

// ID returns the segment's ID.
func (r *Reader) ID() ID { return r.id }

// Documents returns the number of documents.
func (r *Reader) Documents() int { return r.head.documents }

// ResidentBytes returns the memory the reader keeps.
func (r *Reader) ResidentBytes() int {
	return 8*len(r.dir.trigrams) + 15*r.head.documents + 4*(len(r.head.frameLines)+len(r.head.pageStart)+len(r.head.groupFirst))
}

// Keys returns the keys of all documents, in order.
func (r *Reader) Keys() ([]code.DocumentKey, error) {
	keys := make([]code.DocumentKey, r.head.documents)
	err := r.value(partKey(r.id, partKeys), func(b []byte) error {
		if len(b) != len(keys)*len(code.BlobID{}) {
			return fmt.Errorf("%w: keys", ErrCorrupt)
		}
		for i := range keys {
			keys[i].Blob = code.BlobID(b[i*len(code.BlobID{}):])
			keys[i].Language = r.Language(DocID(i))
		}
		return nil
	})
	return keys, err
}

// Key returns the key of a document.
func (r *Reader) Key(d DocID) (code.DocumentKey, error) {
	key := code.DocumentKey{Language: r.Language(d)}
	err := r.value(partKey(r.id, partKeys), func(b []byte) error {
		if len(b) != r.head.documents*len(key.Blob) {
			return fmt.Errorf("%w: keys", ErrCorrupt)
		}
		key.Blob = code.BlobID(b[int(d)*len(key.Blob):])
		return nil
	})
	return key, err
}

// Language returns the language of a document.
func (r *Reader) Language(d DocID) code.Language {
	return code.Language(r.head.languages[r.docs.language[d]])
}

// Languages returns the languages that occur; LanguageIndex numbers them.
func (r *Reader) Languages() []string { return r.head.languages }

// LanguageIndex returns the index of a document's language in Languages.
func (r *Reader) LanguageIndex(d DocID) int { return int(r.docs.language[d]) }

// Flags returns what was found about a document's text.
func (r *Reader) Flags(d DocID) code.Flags { return r.docs.flags[d] }

// TextRange returns where a document lies in the text space.
func (r *Reader) TextRange(d DocID) (lo, hi int) {
	return int(r.docs.text[d]), int(r.docs.text[d+1])
}

// SymbolRange returns where the names of a document's symbols lie in the text
// space.
func (r *Reader) SymbolRange(d DocID) (lo, hi int) {
	return int(r.docs.symbolText[d]), int(r.docs.symbolText[d+1])
}

// TextEnd returns where the documents end and the symbol text begins.
func (r *Reader) TextEnd() int { return r.head.textBytes }

// SpaceEnd returns the size of the text space.
func (r *Reader) SpaceEnd() int { return r.head.textBytes + r.head.symbolBytes }

// Blocks returns the number of blocks of the text space.
func (r *Reader) Blocks() int {
	return (r.SpaceEnd() + postings.BlockBytes - 1) / postings.BlockBytes
}

// DocumentAt returns the document whose text has the byte at an offset of the
// text space.
func (r *Reader) DocumentAt(offset int) DocID { return DocID(upper(r.docs.text, uint32(offset))) }

// DocumentOfSymbol returns the document whose symbol text has that byte.
func (r *Reader) DocumentOfSymbol(offset int) DocID {
	return DocID(upper(r.docs.symbolText, uint32(offset)))
}

// ListBytes returns the size of a trigram's encoded posting list, 0 if no block
// has the trigram. A longer list has more blocks, up to the size of a bitmap.
func (r *Reader) ListBytes(t postings.Trigram) int {
	_, size := r.dir.find(t)
	return int(size)
}

// AppendList appends the encoded posting list of a trigram to dst; nothing if
// it has none.
func (r *Reader) AppendList(dst []byte, t postings.Trigram) ([]byte, error) {
	start, size := r.dir.find(t)
	if size == 0 {
		return dst, nil
	}
	page := upper(r.head.pageStart, start)
	at := start - r.head.pageStart[page]
	err := r.value(numberedKey(r.id, partPage, uint32(page)), func(b []byte) error {
		if uint64(at)+uint64(size) > uint64(len(b)) {
			return fmt.Errorf("%w: page %d", ErrCorrupt, page)
		}
		dst = append(dst, b[at:at+size]...)
		return nil
	})
	return dst, err
}

// Text returns the text of a document. It may use buf, and it is not shared.
func (r *Reader) Text(d DocID, buf []byte) ([]byte, error) {
	lo, hi := r.TextRange(d)
	b, err := NewText(r).Bytes(lo, hi)
	return append(buf[:0], b...), err
}
