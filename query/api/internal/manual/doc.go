// Package manual renders the OpenAPI document as a page.
//
// It answers the question "what can I ask this server, and how?". The page is one
// HTML document with its style in it: it works without scripts and fetches nothing.
//
// # Main types
//
//	Page   the document as HTML
//	Style  what a Content-Security-Policy has to allow for it
//
// # Invariants
//
//  1. Everything on the page is in the document: the package knows no operation.
//  2. The page holds every operation, parameter, answer, schema and example.
package manual
