// Package contract checks requests by the OpenAPI document.
//
// It answers the question "may this be sent, and if not, what is wrong with it?".
// An operation of the document is compiled once into what its checks need, so that
// a request costs microseconds: BenchmarkSearchBody has it beside kin-openapi.
//
// # Main types
//
//	Contract   the operations of a document
//	Operation  checks the path, the query and the body of a request
//	Fault      what is wrong, as people say it
//
// # Invariants
//
//  1. Types are strict: "10" is no number in a body. In a path or query it is the
//     spelling of one.
//  2. Of a query parameter that is there more than once, the first counts. Unknown
//     parameters and members are passed over, unless a schema is closed.
//  3. A Fault names the field as the client wrote it, and shows at most 40 bytes of
//     what was sent.
//
// # Concurrency
//
// What Compile returns is immutable.
//
// It knows no handler and no error code, and it looks at nothing but form: whether
// a repository is there is not its affair.
package contract
