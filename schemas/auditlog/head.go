package auditlog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/event"
)

// Head is the end of a topic's hash chain.
type Head struct {
	Topic event.Topic
	// First and Last are the offsets of the first and the last record that this store has
	// read; -1 if there is none. At is the time of the last record in the log.
	First, Last event.Offset
	At          time.Time
	// Records counts the records of the topic up to Last; if the chain has no anchor,
	// starting at First.
	Records int64
	// Hash is empty as long as the chain has no anchor: the beginning of the log was
	// trimmed, and no seal has followed yet.
	Hash string
	// Entries counts the stored entries.
	Entries int64
	// SealedOffset is the last offset that the last seal covers, -1 without a seal;
	// SealedAt is the time of that seal.
	SealedOffset event.Offset
	SealedAt     time.Time
}

// Pin returns the head in a form that can be stored outside Quarry. It returns "" before
// the first record, and as long as the chain has no anchor.
func (h *Head) Pin() string { return pinText(h.Topic, h.Last, h.Hash) }

func pinText(topic event.Topic, last event.Offset, hash string) string {
	if hash == "" || last < 0 {
		return ""
	}
	return Pin{Hash: hash, At: event.Position{Topic: topic, Offset: last}}.String()
}

// Pin is a head that was recorded outside Quarry.
type Pin struct {
	Hash string
	// At is the position at which it was the head; without a topic, any position.
	At event.Position
}

// String returns p in the format that ParsePin reads.
func (p Pin) String() string {
	if p.At.Topic == "" {
		return p.Hash
	}
	return p.At.String() + ":" + p.Hash
}

// ParsePin reads a hash, or topic/partition/offset:hash.
func ParsePin(s string) (Pin, error) {
	var p Pin
	text := s
	if i := strings.LastIndexByte(s, ':'); i >= 0 {
		at, err := event.ParsePosition(s[:i])
		if err != nil {
			return p, fmt.Errorf("head %.200q: %w", s, err)
		}
		p.At, text = at, s[i+1:]
	}
	hash, err := hex.DecodeString(text)
	if err != nil || len(hash) != sha256.Size {
		return p, fmt.Errorf("head %.200q: want %d hexadecimal digits", s, hex.EncodedLen(sha256.Size))
	}
	p.Hash = hex.EncodeToString(hash)
	return p, nil
}
