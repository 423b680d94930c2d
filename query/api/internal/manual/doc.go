// Package manual renders the OpenAPI document as a page.
//
// It answers the question "which operations does this server have, and how are they
// called?". The page is one HTML document with an embedded style sheet: it works without
// scripts and fetches nothing.
//
// # Main types
//
//	Page   the document as HTML
//	Style  the source that a Content-Security-Policy must allow for its styles
//
// # Invariants
//
//  1. Everything on the page comes from the document: the package knows no operation.
//  2. The page contains every operation, parameter, response, schema and example.
package manual
