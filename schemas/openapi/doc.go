// Package openapi holds the description of the public API, quarry.yaml.
//
// It answers the question "what may a client send, and what does it get?". The
// file is the contract: query/api serves it as JSON, and its tests hold every
// route and answer against it. Fields and paths of the established interface are
// as they are there; what Quarry adds is marked "Addition".
//
// The document is embedded and immutable. The package imports a YAML reader and
// nothing of Quarry.
package openapi
