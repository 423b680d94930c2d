// Package auditlog has the words for what is read of the audit log.
//
// It answers the questions "what is an entry, which are asked for, and is the log as it was
// written?". Package
// schemas/audit has what is written; an Entry is that, as it is in the log. The projection
// returns entries, and query/api maps them once.
//
// The types hold no locks.
package auditlog
