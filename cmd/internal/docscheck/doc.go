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
// The packages config, server and query/api compare the tables of settings, metrics and
// routes with their code.
//
// This package parses Markdown only as far as our pages use it.
package docscheck
