package live

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/schemas/event"
)

// MaxPositionBytes bounds the text of a position for a log with 1,000 partitions.
const MaxPositionBytes = 16 << 10

// maxPositionAge is how long a position is valid.
const maxPositionAge = 15 * time.Minute

// ErrPosition reports a text that is not a position of this server.
var ErrPosition = errors.New("not a position of this server")

// PositionCipher encrypts offsets as texts of equal length.
type PositionCipher struct {
	aead cipher.AEAD
	// purpose keeps texts for other purposes from being accepted as positions.
	purpose []byte
}

// NewPositionCipher returns a cipher for a secret of 32 bytes. Texts that were encrypted for
// another purpose are not decrypted.
func NewPositionCipher(secret []byte, purpose string) (PositionCipher, error) {
	block, err := aes.NewCipher(secret)
	if err != nil {
		return PositionCipher{}, fmt.Errorf("live: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	return PositionCipher{aead, []byte(purpose)}, err
}

// purpose is that of the positions of a Feed.
const purpose = "position of GET /api/events, 1"

// Encrypt returns the text for the next offset of each partition at a time.
func (c PositionCipher) Encrypt(next []event.Offset, at time.Time) string {
	size := c.aead.NonceSize()
	b := make([]byte, size, size+8*(len(next)+1)+c.aead.Overhead())
	_, _ = rand.Read(b) // never fails
	text := binary.BigEndian.AppendUint64(make([]byte, 0, 8*(len(next)+1)), uint64(at.UnixMilli()))
	for _, offset := range next {
		text = binary.BigEndian.AppendUint64(text, uint64(offset))
	}
	return base64.RawURLEncoding.EncodeToString(c.aead.Seal(b, b, text, c.purpose))
}

// Decrypt returns the offsets and the time of a position, or ErrPosition.
func (c PositionCipher) Decrypt(position string) (next []event.Offset, at time.Time, err error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(position)
	if err != nil || len(position) > MaxPositionBytes || len(b) < c.aead.NonceSize() {
		return nil, at, ErrPosition
	}
	text, err := c.aead.Open(nil, b[:c.aead.NonceSize()], b[c.aead.NonceSize():], c.purpose)
	if err != nil || len(text) < 8 || len(text)%8 != 0 {
		return nil, at, ErrPosition
	}
	at = time.UnixMilli(int64(binary.BigEndian.Uint64(text)))
	for text = text[8:]; len(text) > 0; text = text[8:] {
		next = append(next, event.Offset(binary.BigEndian.Uint64(text)))
	}
	return next, at, nil
}
