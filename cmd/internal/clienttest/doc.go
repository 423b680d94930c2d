// Package clienttest calls a running server with generated clients.
//
// It answers the question "can a program use the API with a generated client?". Its test
// generates a client in Go, Python and TypeScript, from our document as the server shows
// it and from the peer's (schemas/openapi/testdata), with the commands of docs/api.md,
// and makes the calls of testdata/calls.yaml.
//
//	make clients-test   installs the generators into .cache and runs it
//
// # How a call is made
//
// A driver in testdata, one for each language, reads calls as lines of JSON and answers
// with the results of the generated client. The test does everything else: it chooses the
// calls, passes them through a proxy, and compares the responses of the server with the
// client's results.
//
// # Invariants
//
//  1. Each client calls each operation of its document, once with a success and once with
//     a failure, unless the operation cannot fail because it has no input and is open.
//  2. A client of our document loses nothing of a response. A client of the peer's may
//     lose what Quarry adds.
//  3. No generated code is kept.
//
// This package contains only tests.
package clienttest
