package auditlog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/event"
)

// Head says how far the chain of a topic is.
type Head struct {
	Topic event.Topic
	// First is the offset of the first record that this store has read, Last that of
	// the last one; -1 if there is none. At is the log's time of it.
	First, Last event.Offset
	At          time.Time
	// Records counts the records of the topic up to Last; from First if the chain has
	// no anchor.
	Records int64
	// Hash is empty as long as the chain has no anchor: the log was cut at its
	// beginning, and no seal has come since.
	Hash string
	// Entries counts the entries that are kept.
	Entries int64
	// SealedOffset is how far the last seal goes, -1 without one; SealedAt when it
	// was made.
	SealedOffset event.Offset
	SealedAt     time.Time
}

// Pin returns the head in the form in which it can be kept elsewhere; empty before the
// first record, and as long as the chain has no anchor.
func (h *Head) Pin() string { return pinText(h.Topic, h.Last, h.Hash) }

func pinText(topic event.Topic, last event.Offset, hash string) string {
	if hash == "" || last < 0 {
		return ""
	}
	return Pin{Hash: hash, At: event.Position{Topic: topic, Offset: last}}.String()
}

// Pin is a head that was recorded elsewhere.
type Pin struct {
	Hash string
	// At is where it was the head; without a topic, anywhere.
	At event.Position
}

// String returns what ParsePin reads.
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
