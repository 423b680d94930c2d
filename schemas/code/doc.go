// Package code defines the terms for source code that every part of Quarry shares:
// repositories, revisions, blobs, the languages of documents, and symbols.
//
// It answers the question "what do we call the thing, and how large may it be?". It
// imports only the standard library, does no I/O and does not depend on the log, Pebble
// or HTTP.
//
// # Identity
//
//	RepositoryID  52 bits, derived from the identity that the code host gives a
//	              repository (see NewRepositoryID), never from its name: a
//	              rename keeps the ID. It fits a JSON number exactly.
//	RepositoryNumber, ConnectionNumber
//	              the IDs in the API: 1, 2, 3 … in the order of
//	              registration, at most MaxNumber (docs/adr/0018).
//	BlobID        the git object name of a blob, cut to 20 bytes in a SHA-256
//	              repository.
//	CommitID      the git object name of a commit, as lower-case hexadecimal.
//	DocumentKey   blob and language together: the same bytes read as C and as
//	              Objective-C have different symbols, so they are two documents.
//
// # Invariants
//
//  1. The zero BlobID, CommitID and RepositoryID mean "none".
//  2. Line numbers are 1-based, byte offsets 0-based, columns 1-based and in
//     code points, everywhere.
//  3. Paths are slash-separated, relative, without "." or ".." elements.
//
// All types are values, safe for concurrent use.
package code
