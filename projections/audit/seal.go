package audit

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/schemas/event"
)

// Key computes and checks the MACs of seals. It is derived from the server's secret, and
// its String method hides it.
type Key struct{ key []byte }

// NewKey derives the key of seals from a server's secret. Keys for other uses of the
// secret differ.
func NewKey(secret []byte) *Key {
	return &Key{key: macOf(secret, []byte("quarry audit seal 1"))}
}

func macOf(key, text []byte) []byte {
	m := hmac.New(sha256.New, key)
	_, _ = m.Write(text) // never returns an error
	return m.Sum(nil)
}

// String keeps the key out of logs.
func (k *Key) String() string { return "hidden" }

// keyID identifies a key without revealing it.
func (k *Key) keyID() string { return hex.EncodeToString(macOf(k.key, []byte("id")))[:16] }

// computeMAC returns the MAC over the chains and time of a seal, each part preceded by
// its length.
func (k *Key) computeMAC(s *event.AuditSealed) string {
	text := []byte("quarry audit seal 1\x00")
	text = binary.BigEndian.AppendUint64(text, uint64(s.At.UnixNano()))
	text = binary.BigEndian.AppendUint64(text, uint64(len(s.Chains)))
	for _, h := range s.Chains {
		for _, part := range []string{string(h.Topic), h.Hash} {
			text = append(binary.BigEndian.AppendUint64(text, uint64(len(part))), part...)
		}
		text = binary.BigEndian.AppendUint64(text, uint64(h.Offset))
		text = binary.BigEndian.AppendUint64(text, uint64(h.Records))
	}
	return hex.EncodeToString(macOf(k.key, text))
}

// checkSeal returns the reason why a seal is invalid, or "" if it is valid.
func (k *Key) checkSeal(s *event.AuditSealed) string {
	switch {
	case s.SealKey != k.keyID():
		return fmt.Sprintf("it was made under another secret (key %s, ours is %s): it is forged, or the server's secret was changed", s.SealKey, k.keyID())
	case !hmac.Equal([]byte(k.computeMAC(s)), []byte(s.MAC)):
		return "its MAC is not that of its content: it is forged, or was changed"
	}
	return ""
}

// Bounds of a Sealer.
const (
	// DefaultSealEvery is the maximum time that records stay unsealed.
	DefaultSealEvery = 5 * time.Minute
	// sealTimeout bounds an append.
	sealTimeout = 10 * time.Second
)

// sealSource is the CloudEvents source of seals.
const sealSource = "/quarry/audit/seal"

// Appender appends seals; the event log implements it.
type Appender interface {
	// Append adds records to topic and returns once they are durable.
	Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error)
}

// SealerOptions configure a Sealer. Log, Key and Chains are required.
type SealerOptions struct {
	Log Appender
	Key *Key
	// Chains are the projections of both topics.
	Chains []*Projection
	// Every is the maximum time that records stay unsealed. Default: DefaultSealEvery.
	Every  time.Duration
	Now    func() time.Time
	Logger *slog.Logger
}

// Sealer appends seals: the state of the chains, under a key that is not in the log. If
// several processes run a Sealer, each takes the seals of all into account.
type Sealer struct {
	o        SealerOptions
	instance string
	number   int
	failing  bool
}

// NewSealer returns a Sealer.
func NewSealer(o SealerOptions) (*Sealer, error) {
	if o.Log == nil || o.Key == nil || len(o.Chains) != len(topics) {
		return nil, errors.New("audit: a sealer wants a log, a key and both projections")
	}
	if o.Every <= 0 {
		o.Every = DefaultSealEvery
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Sealer{o: o, instance: rand.Text()}, nil
}

// Run appends seals until ctx ends.
func (s *Sealer) Run(ctx context.Context) error {
	ticker := time.NewTicker(max(s.o.Every/4, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := s.appendSeal(ctx); err != nil && ctx.Err() == nil && !s.failing {
			s.failing = true
			s.o.Logger.Error("the audit log could not be sealed; trying again", "error", err)
		} else if err == nil {
			s.failing = false
		}
	}
}

// appendSeal appends a seal if there are unsealed records and the last seal is old.
func (s *Sealer) appendSeal(ctx context.Context) error {
	heads, due := s.headsToSeal()
	if !due {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sealTimeout)
	defer cancel()
	ev := &event.AuditSealed{Chains: heads, SealKey: s.o.Key.keyID(), At: s.o.Now().UTC()}
	ev.MAC = s.o.Key.computeMAC(ev)
	s.number++
	env := event.Envelope{ID: s.instance + "/seal/" + strconv.Itoa(s.number), Source: sealSource, Time: ev.At}
	rec, err := event.Encode(env, ev)
	if err != nil {
		return err
	}
	if _, err := s.o.Log.Append(ctx, event.TopicAudit, 0, rec); err != nil {
		return fmt.Errorf("seal %s/%d: %w", event.TopicAudit, ev.Chains[len(ev.Chains)-1].Offset, err)
	}
	return nil
}

// headsToSeal returns the heads, and reports whether they must be sealed now.
func (s *Sealer) headsToSeal() (heads []event.ChainHead, due bool) {
	var last *sealRow
	for _, p := range s.o.Chains {
		if row := p.currentChain(); row.Seal != nil {
			last = row.Seal
		}
	}
	// A seal in the future comes from a wrong clock: do not wait for it.
	if last != nil {
		if age := s.o.Now().Sub(last.At); age >= 0 && age < s.o.Every {
			return nil, false
		}
	}
	for _, p := range s.o.Chains {
		row := p.currentChain()
		if !row.Begun {
			continue
		}
		if row.Hash == "" {
			// The beginning of the log is gone and there is no seal: a seal of the rest
			// would make it look complete.
			s.reportUnsealable(p)
			return nil, false
		}
		heads = append(heads, event.ChainHead{Topic: p.o.Topic, Offset: row.Last, Records: row.Records, Hash: row.Hash})
		due = due || hasUnsealed(row, last, p.o.Topic)
	}
	return heads, due
}

func (s *Sealer) reportUnsealable(p *Projection) {
	if !s.failing {
		s.o.Logger.Error("the audit log is not sealed: its beginning is gone and no seal of this log covers it; see docs/format/audit.md", "topic", p.o.Topic)
	}
	s.failing = true
}

// hasUnsealed reports whether a chain has records after the last seal. The record of
// the seal itself does not count.
func hasUnsealed(row *chainRow, last *sealRow, topic event.Topic) bool {
	sealed, ok := last.headOf(topic)
	if !ok {
		return true
	}
	behind := row.Records - sealed.Records
	if topic == event.TopicAudit && row.Last >= last.Offset {
		behind--
	}
	return behind > 0
}
