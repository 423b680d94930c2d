// Package s3test starts an S3-compatible server for tests: versitygw, which keeps the
// objects in a directory.
//
// It answers the question "does this work with a real S3 server?". A Server is started by
// Start and ends with the test, or by Open for a program that stops it. Its methods may be
// called by one goroutine at a time. Without the program, Start skips the test by name, or
// fails it if QUARRY_REQUIRE_ALL=1, and Open returns ErrUnavailable. `make s3` builds the
// program. Proxy stands between a client and the server and injects
// the faults of a network and of a busy server.
package s3test
