// Package clienttest calls a running server with generated clients.
//
// It answers the question "can a program use the API with a client that a generator made?". Its test generates a
// client in Go, Python and TypeScript, from our document as the server shows it and from the peer's
// (schemas/openapi/testdata), with the commands of docs/api.md, and makes the calls of testdata/calls.yaml.
//
//	make clients-test   installs the generators into .cache and runs it
//
// # How a call is made
//
// A driver in testdata, one for each language, reads calls as lines of JSON and answers what the generated client
// made of each. The test keeps everything else: it chooses the calls, passes them through a proxy, and compares what
// the server sent with what the client understood.
//
// # Invariants
//
//  1. Each operation of a document is called by each client of it, with a success and with a failure, unless it
//     cannot fail: it takes nothing and is open to everyone.
//  2. A client of our document loses nothing of an answer. A client of the peer's may lose what Quarry adds.
//  3. No generated code is kept.
//
// The package holds no code but tests.
package clienttest
