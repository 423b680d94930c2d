// Package repolint is our lint, run as a Go test (make lint).
//
// It answers the question "does the tree still have the shape we agreed on?": which
// package may import which, where outside libraries may appear, and the habits that
// keep a package readable.
//
// # Rules
//
//	imports     the directions between the parts (imports.go)
//	quarantine  outside libraries and the only places that may import them
//	doc         every package has doc.go; every exported name is documented
//	globals     no init functions, no package variables that are modified
//	sleep       no time.Sleep in tests
//	length      a file of code has at most MaxFileLines lines
//	names       functions are verbs with their objects: at most MaxOneWordShare
//	            per cent of a package have names of one word, and none is a
//	            preposition or a participle
//	words       comments use the words of the field
//	commits     messages are as CONTRIBUTING.md asks, from testdata/base.txt on
//
// # Old sins
//
// testdata/sins.txt lists findings that were there when their rule came. The
// list only shrinks: a finding that is not on it fails the test, and so does a
// line of it that no longer holds.
//
// # Concurrency
//
// A Tree is read once and not changed.
//
// It looks at names and syntax only. What needs types is vet's and
// staticcheck's business.
package repolint
