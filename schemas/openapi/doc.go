// Package openapi holds the description of the public API, quarry.yaml.
//
// It answers the question "what may a client send, and what does it get?". The
// file is the contract: query/api serves it as JSON, checks requests by it, and
// its tests check every route and answer against it. Fields and paths of the
// established interface are as they are there; what Quarry adds is marked
// "Addition".
//
// # Main types
//
//	Document  the contract, read and completed: Load, JSON
//	Access    the access rule of an operation
//
// # Invariants
//
//  1. A keyword of the file that Document has no field for is an error.
//  2. What every operation of a kind has (credentials, failures, headers) is
//     filled in and not repeated in the file: see complete.go.
//  3. Members keep the order of the file.
//
// The document is embedded and immutable. The package imports a YAML reader and
// nothing of Quarry.
package openapi
