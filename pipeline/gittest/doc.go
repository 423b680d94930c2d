// Package gittest creates real git repositories for tests, and serves them.
//
// It answers the question "how do I get a repository with exactly this
// history, and how does a server fetch it?". Every repository lives in the test's
// temporary directory, and every commit has a fixed author and time, so that object
// names are the same in every run.
//
// New returns a Repository; Snapshot and Restore copy one; HTTPHandler serves the repositories below a directory over
// HTTP.
//
// A Repository must be used by one goroutine at a time. The package is for tests only.
package gittest
