package event

import (
	"unicode/utf8"

	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TypeAuditRecorded is the event of TopicAudit.
const TypeAuditRecorded Type = "dev.quarry.audit.recorded.v1"

// Limits of an AuditRecorded, in addition to those of schemas/audit.
const (
	// MaxAuditRecords bounds the records of one AuditRecorded. That many long records
	// exceed MaxValueBytes, so the producer must also bound their size.
	MaxAuditRecords = 256
	// MaxActionBytes bounds an action and a target type, MaxRequestIDBytes the ID of
	// a request, MaxMetadataNameBytes a name in the metadata.
	MaxActionBytes       = 64
	MaxRequestIDBytes    = 128
	MaxMetadataNameBytes = 64
)

// AuditRecorded holds records of reads, and of changes outside the accounts, in the order
// in which one process saw them.
type AuditRecorded struct {
	Records []audit.Record `json:"records"`
}

// EventType implements Event.
func (*AuditRecorded) EventType() Type { return TypeAuditRecorded }

// Key implements Event.
func (*AuditRecorded) Key() code.RepositoryID { return 0 }

func (c *checker) checkAuditRecorded(e *AuditRecorded) {
	if len(e.Records) == 0 || len(e.Records) > MaxAuditRecords {
		c.addErrorf("records: %d, want 1 to %d", len(e.Records), MaxAuditRecords)
		return
	}
	for i := range e.Records {
		c.checkAuditRecord(&e.Records[i])
	}
}

func (c *checker) checkAuditRecord(r *audit.Record) {
	c.checkTimeSet("records.at", r.At)
	c.checkText("records.action", string(r.Action), 1, MaxActionBytes)
	c.checkActor("records.actor", r.Actor)
	c.checkText("records.targetType", string(r.TargetType), 1, MaxActionBytes)
	c.checkFreeText("records.target", r.Target, audit.MaxTargetBytes)
	c.checkText("records.requestId", r.RequestID, 0, MaxRequestIDBytes)
	if r.Status < 0 || r.Status > 599 {
		c.addErrorf("records.status: %d, want 0 to 599", r.Status)
	}
	if len(r.Metadata) > audit.MaxMetadata {
		c.addErrorf("records.metadata: %d, at most %d", len(r.Metadata), audit.MaxMetadata)
	}
	for name, value := range r.Metadata {
		c.checkText("records.metadata", name, 1, MaxMetadataNameBytes)
		c.checkFreeText("records.metadata", value, audit.MaxMetadataBytes)
	}
}

// checkFreeText checks text that may contain control characters, as paths and queries do.
func (c *checker) checkFreeText(field, s string, max int) {
	if len(s) > max {
		c.addErrorf("%s: %d bytes, at most %d", field, len(s), max)
	}
	if !utf8.ValidString(s) {
		c.addErrorf("%s: %.80q is not UTF-8", field, s)
	}
}
