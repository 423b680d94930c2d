// Package testserver runs the built server for tests of its API.
//
// It answers the question "which server does a test of the API call?". Build makes the
// binary, Start runs it on loopback until the test ends, MakeRepository makes a git
// repository to index.
//
// It waits until the server is ready. It reads the address from the log, and the token that creates the first
// owner from the file of the setup link.
package testserver
