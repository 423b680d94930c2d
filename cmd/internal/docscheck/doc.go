// Package docscheck checks the documentation against the tree, as a Go test (make
// docs-check).
//
// It answers the question "is this page still correct, as far as a program can check?".
//
//	links    a relative link leads to a file, and its #fragment to a heading
//	targets  a `make x` in a page is a target of the Makefile
//	paths    a path in ARCHITECTURE.md exists, and every package has its section
//	lines    prose is wrapped at MaxLineRunes columns
//
// The packages config and server compare the tables of settings and metrics with their
// code, cmd/quarry the commands in all pages, and schemas/openapi the requests and the
// names of operations in them.
//
// This package parses Markdown only as far as our pages use it.
package docscheck
