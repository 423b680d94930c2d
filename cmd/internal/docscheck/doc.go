// Package docscheck checks the documentation against the tree, as a Go test (make
// docs-check).
//
// It answers the question "is this page still correct, as far as a program can
// check?".
//
//	links    a relative link leads to a file, and its #fragment to a heading
//	targets  a `make x` in a page is a target of the Makefile
//	paths    a path in ARCHITECTURE.md exists, and every package has its section
//
// The tables of settings, metrics and routes are held to the code by the
// packages that know them: config, server and query/api.
//
// It reads Markdown as far as our own pages use it, and is not a parser for
// anything else.
package docscheck
