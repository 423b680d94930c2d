// Package precise stores precise indexes and answers questions about symbols from them.
//
// It answers the question "what does a compiler know about this name?". The main type is
// Store: Upload checks an index against the files of its commit and announces it, Delete
// removes an upload, Occurrences returns the symbols that occur in a text, Files returns the
// files in which a symbol occurs, and Describe returns the documentation of a symbol.
//
//	Upload:       body ──► scip.ReadIndex ──► object ──► segment store ──► event
//	Occurrences:  newest upload with the file ──► unchanged lines of the text
//
// # Later commits
//
// An upload describes the files of one commit. Occurrences accepts any text: if its lines
// equal those of the upload, every occurrence counts; otherwise, only the occurrences on
// unchanged lines count.
//
// # Other repositories
//
// An upload may name the symbols of any package, but it decides only about its own
// repository. Elsewhere, a symbol has one definer: the repository of the position, if it
// defines the symbol, or else the owner of its package according to Owners (scope.go).
//
// # Invariants
//
//  1. An upload is visible as a whole or not at all: the event is appended once the object
//     is durable, and a failure before that leaves an object that nothing references.
//  2. No object is deleted that an event may still reference: Sweep deletes only objects
//     older than the longest possible upload, once the catalog has applied everything that
//     was in the log when Sweep listed them.
//  3. The number of concurrent uploads, their time and bytes, the files read for an answer,
//     and the readers kept in memory are bounded.
//  4. An upload adds no definition, implementation or description to answers in another
//     repository, unless its repository is the definer of the symbol.
//
// The package does not authorize callers: they name the repositories to use, and read every
// text through their own view. A Store is safe for concurrent use.
package precise
