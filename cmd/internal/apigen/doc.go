// Package apigen generates JSON and Go code from the OpenAPI document.
//
// It answers the question "what does the API look like in Go?". Its test runs
// oapi-codegen, a tool of go.mod, on the document, and compares the result with the files
// in the tree; make generate writes them.
//
// # Main types
//
//	document    schemas/openapi: the file in JSON, which servers read when they start
//	models      schemas/openapi/wire: a struct for every schema
//	operations  query/client: a method for every operation
//
// # Invariants
//
//  1. The generator gets the document of package openapi without the parts that make
//     worse Go code: the failures, which are one type, and the names of responses that
//     are schemas.
//  2. Members of structs are in the order of the file. An optional member is not a
//     pointer, unless its zero value has a meaning (x-zero-counts).
//
// This package contains only tests.
package apigen
