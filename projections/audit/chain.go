package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/event"
)

// hash is a link of a chain, or the digest of a record.
type hash [sha256.Size]byte

func (h hash) String() string { return hex.EncodeToString(h[:]) }

func parseHash(s string) (h hash, err error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(h) {
		return h, fmt.Errorf("hash %.80q: want %d hexadecimal characters", s, 2*len(h))
	}
	return hash(b), nil
}

// genesisHash returns the link before the first record of a topic.
func genesisHash(topic event.Topic) hash {
	return sha256.Sum256([]byte("quarry audit chain 1\x00" + string(topic)))
}

// next returns the link of the record after h.
func (h hash) next(digest hash) hash {
	var both [2 * sha256.Size]byte
	copy(both[:], h[:])
	copy(both[sha256.Size:], digest[:])
	return sha256.Sum256(both[:])
}

// digestOf returns the hash of all stored parts of a record: position, time, key, headers
// in order, value. Each part is preceded by its length, so that no two records yield the
// same bytes.
func digestOf(rec *event.Record) hash {
	d := sha256.New()
	var n [8]byte
	number := func(v uint64) {
		binary.BigEndian.PutUint64(n[:], v)
		_, _ = d.Write(n[:]) // never returns an error
	}
	text := func(b []byte) {
		number(uint64(len(b)))
		_, _ = d.Write(b)
	}
	text([]byte(rec.Position.Topic))
	number(uint64(rec.Position.Partition))
	number(uint64(rec.Position.Offset))
	number(uint64(rec.Time.UnixMilli()))
	text(rec.Key)
	number(uint64(len(rec.Headers)))
	for _, h := range rec.Headers {
		text([]byte(h.Name))
		text(h.Value)
	}
	text(rec.Value)
	return hash(d.Sum(nil))
}

// chainRow is the value of u c: the current end of a topic's chain.
type chainRow struct {
	// Begun reports that there is a first record; First is its offset.
	Begun bool         `json:"begun,omitempty"`
	First event.Offset `json:"first"`
	// Last is the offset of the last record, Records the number of records up to it, At
	// its time in the log.
	Last    event.Offset `json:"last"`
	Records int64        `json:"records"`
	At      time.Time    `json:"at,omitzero"`
	// Hash is the link of the last record; empty until the chain has an anchor: the
	// beginning of the topic, or a seal. Records then counts from First.
	Hash string `json:"hash,omitempty"`
	// Anchor is the link that precedes the stored links.
	Anchor *anchor `json:"anchor,omitempty"`
	// Oldest is at or before the first stored link.
	Oldest event.Offset `json:"oldest"`
	// Seal is the last seal of both chains; only the chain of quarry.audit stores it.
	Seal *sealRow `json:"seal,omitempty"`
	// Entries counts the stored entries.
	Entries int64 `json:"entries"`
}

// anchor is a link whose record is no longer stored, or never was.
type anchor struct {
	Offset  event.Offset `json:"offset"` // -1 for the beginning of the topic
	Records int64        `json:"records"`
	Hash    string       `json:"hash"`
}

// sealRow is a seal.
type sealRow struct {
	Offset event.Offset      `json:"offset"` // of the seal's record
	Chains []event.ChainHead `json:"chains"`
	At     time.Time         `json:"at"`
	Key    string            `json:"key"`
}

// headOf returns the head of a topic according to the seal.
func (s *sealRow) headOf(topic event.Topic) (event.ChainHead, bool) {
	if s != nil {
		for _, h := range s.Chains {
			if h.Topic == topic {
				return h, true
			}
		}
	}
	return event.ChainHead{}, false
}

// linkRow is the value of u h: the link of a record or, if the chain had no anchor yet,
// the digest of the record.
type linkRow struct {
	anchored bool
	sum      hash
	ms       uint64 // the record's time in the log
}

const linkBytes = 1 + sha256.Size + 8

func (l linkRow) encode() []byte {
	b := make([]byte, 0, linkBytes)
	if l.anchored {
		b = append(b, 'h')
	} else {
		b = append(b, 'd')
	}
	return binary.BigEndian.AppendUint64(append(b, l.sum[:]...), l.ms)
}

func decodeLink(key, value []byte) (linkRow, error) {
	if len(value) != linkBytes || value[0] != 'h' && value[0] != 'd' {
		return linkRow{}, fmt.Errorf("audit: row %q is no link", key)
	}
	return linkRow{value[0] == 'h', hash(value[1 : 1+sha256.Size]), binary.BigEndian.Uint64(value[1+sha256.Size:])}, nil
}

// appendLink adds the record to the chain.
func (c *change) appendLink(ev event.Event) error {
	at, digest := c.rec.Position.Offset, digestOf(&c.rec)
	if !c.chain.Begun {
		c.beginChain(at)
	}
	row := linkRow{sum: digest, ms: unixMillis(c.rec.Time)}
	if c.chain.Hash != "" {
		before, err := parseHash(c.chain.Hash)
		if err != nil {
			return fmt.Errorf("audit: chain of %s: %w", c.p.o.Topic, err)
		}
		row.anchored, row.sum = true, before.next(digest)
		c.chain.Hash = row.sum.String()
	}
	c.chain.Last, c.chain.At = at, c.rec.Time
	c.chain.Records++
	seal, isSeal := ev.(*event.AuditSealed)
	if isSeal && c.chain.Hash == "" {
		if err := c.anchorAt(seal, &row); err != nil {
			return err
		}
	}
	if isSeal {
		c.chain.Seal = &sealRow{Offset: at, Chains: seal.Chains, At: seal.At, Key: seal.SealKey}
	}
	return c.b.Set(linkKey(c.p.topic, at), row.encode())
}

// beginChain starts the chain: with an anchor if the log still has its beginning.
func (c *change) beginChain(at event.Offset) {
	c.chain.Begun, c.chain.First, c.chain.Oldest = true, at, at
	if at == 0 {
		c.chain.Hash = genesisHash(c.p.o.Topic).String()
		c.chain.Anchor = &anchor{Offset: -1, Hash: c.chain.Hash}
	}
}

// anchorAt continues the chain from a seal if the beginning of the log is gone: it
// computes the links after the sealed record. Earlier rows remain digests, because their
// links cannot be computed. last is the link of the seal itself.
func (c *change) anchorAt(seal *event.AuditSealed, last *linkRow) error {
	sealed, ok := (&sealRow{Chains: seal.Chains}).headOf(c.p.o.Topic)
	if !ok || sealed.Offset < c.chain.First-1 || sealed.Offset >= c.rec.Position.Offset {
		return nil
	}
	sum, err := parseHash(sealed.Hash)
	if err != nil {
		return err
	}
	records := sealed.Records
	err = eachLink(c.b, c.p.topic, sealed.Offset+1, c.rec.Position.Offset, func(at event.Offset, row linkRow) error {
		records++
		sum = sum.next(row.sum)
		return c.b.Set(linkKey(c.p.topic, at), linkRow{true, sum, row.ms}.encode())
	})
	if err != nil {
		return err
	}
	c.anchored = true
	last.anchored, last.sum = true, sum.next(last.sum)
	c.chain.Hash, c.chain.Records = last.sum.String(), records+1
	c.chain.Anchor = &anchor{Offset: sealed.Offset, Records: sealed.Records, Hash: sealed.Hash}
	return nil
}

// eachLink calls f for the links from one offset (inclusive) to another
// (exclusive).
func eachLink(r store.Reader, topic byte, from, to event.Offset, f func(event.Offset, linkRow) error) error {
	return forEachRow(r, linkKey(topic, from), linkKey(topic, to), func(key, value []byte) error {
		row, err := decodeLink(key, value)
		if err != nil {
			return err
		}
		return f(event.Offset(binary.BigEndian.Uint64(key[3:])), row)
	})
}

func readChain(r store.Reader, topic byte) (*chainRow, error) {
	row := new(chainRow)
	if _, err := readRow(r, chainKey(topic), row); err != nil {
		return nil, err
	}
	return row, nil
}
