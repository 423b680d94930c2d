package segment

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Walker finds keys of a source. *store.Iterator implements it.
type Walker interface {
	// Find moves to a key and reports whether it exists. Value is valid until the next
	// move.
	Find(key []byte) bool
	Value() []byte
	Err() error
	Close() error
}

// Walkable is a Source that also offers walkers over the keys of all segments. A seek of
// a walker costs a quarter of a Get, which creates a new iterator each time.
type Walkable interface {
	Walk() (Walker, error)
}

// Cursor reads values of segments for one goroutine. It sees a source as it was at the
// first read, so it must not outlive the view to which the segments belong, and it must
// be closed. It is most efficient while the source stays the same. The zero Cursor is
// ready for use.
type Cursor struct {
	src    Source // of the last read
	walker Walker
	closer io.Closer // of the last value, if there is no walker
	key    []byte
	texts  []*Text // Texts that read through the cursor
}

// Close releases the resources of the cursor and of the Texts that read through it. The
// cursor may be used again, and must then be closed again.
func (c *Cursor) Close() error {
	for _, t := range c.texts {
		t.releaseBuffers()
	}
	return c.leaveSource()
}

// leaveSource releases the source.
func (c *Cursor) leaveSource() error {
	err := c.releaseValue()
	if c.walker != nil {
		err = errors.Join(err, c.walker.Close())
	}
	c.walker, c.src = nil, nil
	return err
}

// releaseValue releases the last value.
func (c *Cursor) releaseValue() error {
	if c.closer == nil {
		return nil
	}
	err := c.closer.Close()
	c.closer = nil
	return err
}

// readPart returns a part of a segment, valid until the next call of a method.
func (c *Cursor) readPart(r *Reader, part byte) ([]byte, error) {
	c.key = appendPartKey(c.key[:0], r.id, part)
	return c.get(r)
}

// readNumbered returns a numbered part of a segment, valid until the next call of a
// method.
func (c *Cursor) readNumbered(r *Reader, part byte, n uint32) ([]byte, error) {
	c.key = binary.BigEndian.AppendUint32(appendPartKey(c.key[:0], r.id, part), n)
	return c.get(r)
}

func (c *Cursor) get(r *Reader) (value []byte, err error) {
	if err := c.switchSource(r.src); err != nil {
		return nil, err
	}
	if c.walker == nil {
		value, c.closer, err = r.src.Get(c.key)
	} else {
		value, err = c.seek()
	}
	if err != nil {
		return nil, r.noteCorrupt(fmt.Errorf("read part %q: %w", c.key[partAt:], err))
	}
	return value, nil
}

// switchSource releases the last value and changes the source to src.
func (c *Cursor) switchSource(src Source) error {
	if err := c.releaseValue(); err != nil || c.src == src {
		return err
	}
	if err := c.leaveSource(); err != nil {
		return err
	}
	c.src = src
	walkable, ok := src.(Walkable)
	if !ok {
		return nil
	}
	var err error
	c.walker, err = walkable.Walk()
	return err
}

// errNoKey reports that a segment lacks the key of a part, which a segment whose keys are
// removed because of damage does while readers still use it.
var errNoKey = fmt.Errorf("%w: the key does not exist", ErrCorrupt)

func (c *Cursor) seek() ([]byte, error) {
	if c.walker.Find(c.key) {
		return c.walker.Value(), c.walker.Err()
	}
	return nil, cmp.Or(c.walker.Err(), errNoKey)
}
