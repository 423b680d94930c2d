// Package testserver runs the built server for tests of its API.
//
// It answers the question "which server does a test of the API call?". Build returns the
// binary, Start runs it on loopback until the test ends, and MakeRepository creates a git
// repository to index.
//
// All tests that run a built server use the same binary, because linking it takes about
// five seconds of CPU time: `make test` builds it once and passes its path in
// QUARRY_TEST_BINARY. It has a clock that tests can move and the release StampedRelease,
// and is otherwise the binary of `make build`.
//
// Start waits until the server is ready. It reads the address from the log, and the token
// that creates the first owner from the file with the setup link.
package testserver
