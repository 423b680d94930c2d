// Package testserver runs the built server for tests of its API.
//
// It answers the question "which server does a test of the API call?". Build builds the
// binary, Start runs it on loopback until the test ends, and MakeRepository creates a git
// repository to index.
//
// Start waits until the server is ready. It reads the address from the log, and the token
// that creates the first owner from the file with the setup link.
package testserver
