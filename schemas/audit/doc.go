// Package audit holds the words of the audit log: who did what to which target,
// when and from where.
//
// It answers the question "what has to be recorded, and under which name?" for
// those who write (query/api, query/mcp) and those who keep (projections/audit).
// The main types are Record and Action.
//
// What changes the accounts is an event of event.TopicAccounts that carries its
// actor: the audit log is made of these and of the records of event.TopicAudit, so
// that no account changes without an entry. Everything else that is recorded is
// a Record.
//
// # Invariants
//
//  1. A record holds no credential, no password and no text of a repository.
//  2. An action that was released keeps its name and meaning.
package audit
