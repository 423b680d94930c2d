// Package audit defines the records of the audit log: who did what to which target, when
// and from where.
//
// It answers the question "what has to be recorded, and under which name?" for the
// packages that write records (query/api, query/mcp) and the one that stores them
// (projections/audit). The main types are Record and Action.
//
// Each change of the accounts is an event of event.TopicAccounts that carries its actor.
// The audit log consists of these events and of the records of event.TopicAudit, so that
// no account changes without an entry. All other actions are recorded as a Record.
//
// # Invariants
//
//  1. A record holds no credential, no password and no text of a repository.
//  2. A released action keeps its name and meaning.
package audit
