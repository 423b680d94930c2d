// Package contract checks requests against the OpenAPI document.
//
// It answers the question "is this request valid, and if not, what is wrong with it?".
// Each operation of the document is compiled once into the data that its checks need, so
// that checking a request takes microseconds: BenchmarkSearchBody compares it with
// kin-openapi.
//
// # Main types
//
//	Contract   the operations of a document
//	Operation  checks the path, the query and the body of a request
//	Fault      the description of an error in a request
//
// # Invariants
//
//  1. Types are strict: "10" is not a number in a body. In a path or query, its digits
//     are a number.
//  2. If a query parameter occurs more than once, the first one counts. Unknown
//     parameters and members are ignored, unless a schema is closed.
//  3. A Fault names the field as the client wrote it, and shows at most 40 bytes of
//     its value.
//
// # Concurrency
//
// The result of Compile is immutable.
//
// The package does not know handlers or error codes, and it checks only the form: it does
// not check whether a repository exists.
package contract
