// Package contract checks requests by the OpenAPI document.
//
// It answers the question "is this request valid, and if not, what is wrong with
// it?". An operation of the document is compiled once into what its checks need, so
// that a request costs microseconds: BenchmarkSearchBody compares it with
// kin-openapi.
//
// # Main types
//
//	Contract   the operations of a document
//	Operation  checks the path, the query and the body of a request
//	Fault      what is wrong, as people say it
//
// # Invariants
//
//  1. Types are strict: "10" is not a number in a body. In a path or query it is the
//     spelling of one.
//  2. Of a query parameter that is there more than once, the first counts. Unknown
//     parameters and members are skipped, unless a schema is closed.
//  3. A Fault names the field as the client wrote it, and shows at most 40 bytes of
//     what was sent.
//
// # Concurrency
//
// What Compile returns is immutable.
//
// It knows no handler and no error code, and it checks only the form: whether a
// repository exists is not its concern.
package contract
