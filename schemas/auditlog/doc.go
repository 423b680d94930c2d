// Package auditlog defines the types for reading the audit log.
//
// It answers the questions "what is an entry, which entries are requested, and is the log
// unaltered?". Package schemas/audit defines what is written; an Entry is such a record
// with its place in the log. The projection returns entries, and query/api maps them
// once.
//
// The types hold no locks.
package auditlog
