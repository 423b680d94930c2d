package event

import (
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// TypeAuditSealed is the event of TopicAudit that seals the records before it.
const TypeAuditSealed Type = "dev.quarry.audit.sealed.v1"

// MaxSealedChains bounds the chains of a seal.
const MaxSealedChains = 8

// AuditSealed records the state of the audit log's hash chains at some earlier records,
// under a key that is not in the log. docs/format/audit.md describes the chains and the
// MAC.
type AuditSealed struct {
	// Chains are ordered by topic.
	Chains []ChainHead `json:"chains"`
	// SealKey identifies the key of the seal, MAC is the HMAC-SHA256 of chains and
	// time; both in hexadecimal.
	SealKey string    `json:"key"`
	MAC     string    `json:"mac"`
	At      time.Time `json:"at"`
}

// ChainHead is the state of a topic's hash chain after a record.
type ChainHead struct {
	Topic  Topic  `json:"topic"`
	Offset Offset `json:"offset"`
	// Records counts the records of the topic up to and including that record.
	Records int64  `json:"records"`
	Hash    string `json:"hash"`
}

// EventType implements Event.
func (*AuditSealed) EventType() Type { return TypeAuditSealed }

// Key implements Event.
func (*AuditSealed) Key() code.RepositoryID { return 0 }

func (c *checker) checkAuditSealed(e *AuditSealed) {
	if len(e.Chains) == 0 || len(e.Chains) > MaxSealedChains {
		c.addErrorf("chains: %d, want 1 to %d", len(e.Chains), MaxSealedChains)
		return
	}
	for i := range e.Chains {
		h := &e.Chains[i]
		c.checkText("chains.topic", string(h.Topic), 1, MaxTopicBytes)
		c.checkNotNegative("chains.offset", int64(h.Offset))
		if h.Records < 1 {
			c.addErrorf("chains.records: %d, want at least 1", h.Records)
		}
		c.checkLowerHex("chains.hash", h.Hash, 64)
	}
	c.checkLowerHex("key", e.SealKey, 16)
	c.checkLowerHex("mac", e.MAC, 64)
	c.checkTimeSet("at", e.At)
}
