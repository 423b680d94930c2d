// Package openapitest loads the OpenAPI document with an independent library. It is for
// tests.
//
// It answers the question "how does another OpenAPI implementation read our document?".
package openapitest

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/quarrysearch/quarry/schemas/openapi"
)

// Load returns the document that the server serves.
func Load(t testing.TB) *openapi3.T {
	t.Helper()
	document, err := openapi.Load()
	if err != nil {
		t.Fatal(err)
	}
	b, err := document.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return Parse(t, b)
}

// Parse parses an OpenAPI document.
func Parse(t testing.TB, b []byte) *openapi3.T {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromData(b)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// NewRouter returns a router that finds the operation of a request in a document.
func NewRouter(t testing.TB, document *openapi3.T) routers.Router {
	t.Helper()
	router, err := gorillamux.NewRouter(document)
	if err != nil {
		t.Fatal(err)
	}
	return router
}
