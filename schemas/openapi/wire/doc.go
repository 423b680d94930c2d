// Package wire holds the bodies of the public API as Go structs.
//
// It answers the question "how does a body read in Go?". The structs follow from
// the schemas of package openapi: models.gen.go is written by make generate, and
// a test compares it. The server answers with them and the client reads them.
//
// # Invariants
//
//  1. A member that the document does not require is left out of JSON if it is its
//     zero value.
//  2. Times are written in UTC with milliseconds.
//
// The package imports nothing but the standard library and package code.
package wire
