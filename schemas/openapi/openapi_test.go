package openapi_test

import (
	"testing"

	"github.com/quarrysearch/quarry/schemas/openapi/openapitest"
)

func TestDocumentIsValid(t *testing.T) {
	document := openapitest.Load(t)
	if err := document.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	if document.OpenAPI != "3.0.3" || document.Info.Version != "v5.1.9" {
		t.Errorf("OpenAPI %s, interface %s: both are part of the contract", document.OpenAPI, document.Info.Version)
	}
}
