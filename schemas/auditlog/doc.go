// Package auditlog has the words for what is read of the audit log.
//
// It answers the question "what is an entry, and which are asked for?". Package
// schemas/audit has what is written; an Entry is that, as it is in the log. The projection
// returns entries, and query/api maps them once.
//
// The types hold no locks and no behavior.
package auditlog
