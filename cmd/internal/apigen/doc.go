// Package apigen writes the Go code that follows from the OpenAPI document.
//
// It answers the question "what does the API look like in Go?". Its test runs
// oapi-codegen, a tool of go.mod, on what the document says, and compares the
// outcome with the files in the tree; make generate writes them.
//
// # Main types
//
//	models      schemas/openapi/wire: a struct for every schema
//	operations  query/client: a method for every operation
//
// # Invariants
//
//  1. The generator sees the document of package openapi, less what makes worse Go
//     of it: the failures, which are one type, and the names of answers that are
//     schemas.
//  2. Members of structs are in the order of the file. One that may be absent is not a
//     pointer, except where the zero value has a meaning (x-zero-counts).
//
// The package holds no code but tests.
package apigen
