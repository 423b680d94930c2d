package openapi_test

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/quarrysearch/quarry/schemas/openapi"
)

func TestDocumentIsValid(t *testing.T) {
	b, err := openapi.JSON()
	if err != nil {
		t.Fatal(err)
	}
	document, err := openapi3.NewLoader().LoadFromData(b)
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	if document.OpenAPI != "3.0.3" || document.Info.Version != "v5.1.9" {
		t.Errorf("OpenAPI %s, interface %s: both are part of the contract", document.OpenAPI, document.Info.Version)
	}
}
