// Package openapi contains the description of the public API, quarry.yaml.
//
// It answers the question "what may a client send, and what does it get?". The file is
// the contract: query/api serves it as JSON and validates requests against it, and its
// tests check every route and response against it. Fields and paths of the established
// interface are unchanged; additions of Quarry are marked "Addition".
//
// # Main types
//
//	Document  the contract, read and completed: Load, Read, JSON
//	Access    the access rule of an operation
//
// # Invariants
//
//  1. A keyword in the file for which Document has no field is an error.
//  2. The parts that all operations of a kind share (credentials, failures, headers) are
//     filled in and not repeated in the file; see complete.go.
//  3. Members keep the order of the file.
//
// The document is embedded, converted to JSON by cmd/internal/apigen, and immutable. The
// package imports no other package of Quarry.
package openapi
