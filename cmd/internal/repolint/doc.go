// Package repolint is our lint, run as a Go test (make lint).
//
// It answers the question "does the tree still have the shape we agreed on?": which
// packages may import which, where external libraries may appear, and the habits that
// keep a package readable.
//
// # Rules
//
//	imports     the allowed imports between the parts (imports.go)
//	quarantine  external libraries and the only packages that may import them
//	doc         every package has doc.go; every exported name is documented
//	globals     no init functions, no package variables that are modified
//	sleep       no time.Sleep in tests
//	realtime    no test fails because of the result of time.Since, except in files that
//	            use a bubble of testing/synctest
//	skips       no test is skipped in CI: where a program is missing, it fails if
//	            QUARRY_REQUIRE_ALL is 1
//	length      a code file has at most MaxFileLines lines
//	names       functions are verbs with their objects: at most MaxOneWordShare
//	            per cent of a package have names of one word, and none is a
//	            preposition or a participle
//	words       comments use the words of the field
//	commits     messages follow CONTRIBUTING.md, from testdata/base.txt on
//
// # Old sins
//
// testdata/sins.txt lists findings that existed when their rule was added. The list only
// shrinks: a finding that is not on it fails the test, and so does a line that no longer
// applies.
//
// # Concurrency
//
// A Tree is read once and not changed.
//
// This package checks only names and syntax. Checks that need types are left to vet and
// staticcheck.
package repolint
