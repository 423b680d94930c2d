package segment

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/quarrysearch/quarry/projections/postings"
)

// notingSource returns other bytes for the values of one part, and records what it is informed of.
type notingSource struct {
	Source
	part  byte
	noted []ID
}

func (s *notingSource) Get(key []byte) ([]byte, io.Closer, error) {
	if key[partAt] == s.part {
		return bytes.Repeat([]byte{0xff}, 3), io.NopCloser(nil), nil
	}
	return s.Source.Get(key)
}

func (s *notingSource) NoteDamage(id ID, _ error) { s.noted = append(s.noted, id) }

// TestReadersNoteDamage reads each part from a source whose bytes do not fit the format. Each
// read informs the source, so that it does not matter what reads a segment first.
func TestReadersNoteDamage(t *testing.T) {
	docs := randomDocuments(rand.New(rand.NewPCG(4, 2)), 40)
	path, meta := build(t, Options{Grams: true}, docs)
	file, err := OpenFile(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for part, read := range map[byte]func(r *Reader, c *Cursor) error{
		partKeys: func(r *Reader, c *Cursor) error {
			_, all := r.Keys()
			_, err := r.Key(c, 0)
			return errors.Join(all, err)
		},
		partPage: func(r *Reader, c *Cursor) error {
			_, err := r.List(c, r.FindList(postings.MakeTrigram('d', 'o', 'c')))
			return err
		},
		partRuns: func(r *Reader, c *Cursor) error {
			_, err := r.Runs(c, postings.RunQuery{})
			return err
		},
		partDefinitions: func(r *Reader, c *Cursor) error {
			_, err := r.Definitions(c, "Device", nil)
			return err
		},
		partFrame: func(r *Reader, c *Cursor) error {
			_, err := NewText(r, c).Bytes(0, 10)
			return err
		},
		partSymbols: func(r *Reader, c *Cursor) error {
			var err error
			for d := range DocID(r.Documents()) {
				err = errors.Join(err, r.Outline(c, d, new(Outline)))
			}
			return err
		},
		partGrams: func(r *Reader, _ *Cursor) error {
			_, err := r.MayHave([]postings.Gram{1})
			return err
		},
	} {
		src := &notingSource{Source: file.src, part: part}
		r, err := Open(src, meta.ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		var c Cursor
		if err := read(r, &c); !errors.Is(err, ErrCorrupt) {
			t.Errorf("part %q: error %v, want %v", part, err, ErrCorrupt)
		}
		if len(src.noted) == 0 || src.noted[0] != meta.ID {
			t.Errorf("part %q: the source is informed of %v, want %s", part, src.noted, meta.ID)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
