// Package precise takes precise indexes, and answers from them what a symbol of a file is.
//
// It answers the question "what does a compiler know about this name?". The main type is
// Store: Upload checks an index against the files of its commit and announces it, Delete
// takes an upload back,
// Occurrences says which symbols stand in a text, Files where a symbol occurs, Describe
// what is said about it.
//
//	Upload:       body ──► scip.ReadIndex ──► object ──► segment store ──► event
//	Occurrences:  newest upload with the file ──► unchanged lines of the text
//
// # Later commits
//
// An upload is about the files of one commit. Occurrences takes any text: if its lines are
// those of the upload every occurrence counts, otherwise those on lines that are unchanged.
//
// # Invariants
//
//  1. An upload is visible whole or not at all: the event is appended once the object is
//     durable, and what fails before leaves an object that nothing names.
//  2. No object is deleted that an event may still name: Sweep deletes what is older than an
//     upload may take, once the catalog shows all that was in the log when it listed them.
//  3. Uploads at once, their time and bytes, files read for an answer, and readers kept in
//     memory are bounded.
//
// The package decides nothing about who may read what: its callers name the repositories
// that count, and read every text through their own view. A Store is safe for concurrent
// use.
package precise
