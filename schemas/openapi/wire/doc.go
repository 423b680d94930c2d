// Package wire defines the bodies of the public API as Go structs.
//
// It answers the question "what does a body look like in Go?". The structs follow from
// the schemas of package openapi: make generate writes models.gen.go, and a test checks
// that it is current. The server encodes them and the client decodes them.
//
// # Invariants
//
//  1. JSON omits a member that the document does not require if it is zero.
//  2. Times are written in UTC with milliseconds.
//
// The package imports nothing but the standard library and package code.
package wire
