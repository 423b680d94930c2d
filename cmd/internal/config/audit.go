package config

import "time"

// Audit defines the contents of the audit log and their retention.
type Audit struct {
	Required   bool     `yaml:"required" doc:"Reject requests once queueBytes of records are waiting because the event log does not accept them. Off: answer them and count the lost records. Changes always wait for the log."`
	QueryText  bool     `yaml:"queryText" doc:"Record the text of queries, up to 512 bytes. Off: record only that a search took place."`
	Retention  Duration `yaml:"retention" doc:"How long entries are kept. 0: forever."`
	SealEvery  Duration `yaml:"sealEvery" doc:"Longest time until new entries are sealed. A seal proves later whether entries were changed."`
	QueueBytes Bytes    `yaml:"queueBytes" doc:"Size of the queue of entries in memory that wait for the event log."`
	MaxWait    Duration `yaml:"maxWait" doc:"Longest time that a request waits for the audit log."`
}

// These are the bounds of audit.
const (
	minRetention  = 24 * time.Hour
	minSeal       = time.Second
	maxSeal       = 24 * time.Hour
	minAuditQueue = 64 << 10
	maxAuditWait  = 9 * time.Second // less than the API waits
)

func (c *Config) validateAudit(report reporter) {
	if keep := c.Audit.Retention.Std(); keep != 0 && keep < minRetention {
		report("audit.retention", "%s is too short: 0 or at least %s", keep, minRetention)
	}
	if every := c.Audit.SealEvery.Std(); every < minSeal || every > maxSeal {
		report("audit.sealEvery", "%s: want %s to %s", every, minSeal, maxSeal)
	}
	if c.Audit.QueueBytes < minAuditQueue {
		report("audit.queueBytes", "%d bytes: want at least %d", int64(c.Audit.QueueBytes), minAuditQueue)
	}
	if wait := c.Audit.MaxWait.Std(); wait <= 0 || wait > maxAuditWait {
		report("audit.maxWait", "%s: want more than 0 and at most %s", wait, maxAuditWait)
	}
}
