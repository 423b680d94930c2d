package contract_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"encoding/json"

	"github.com/getkin/kin-openapi/openapi3filter"

	"github.com/quarrysearch/quarry/schemas/openapi/openapitest"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// BenchmarkSearchBody measures the cost of checking a search: decoding alone, decoding
// with this package, and kin-openapi's request validator, which needs decoding
// afterwards.
func BenchmarkSearchBody(b *testing.B) {
	const body = `{"query":"boil lang:go repo:kettle","matches":100,"contextLines":3,"isRegexEnabled":false}`
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var in wire.SearchRequest
			if err := json.Unmarshal([]byte(body), &in); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("contract", func(b *testing.B) {
		o := compile(b).Operation("POST", "/api/search")
		b.ReportAllocs()
		for b.Loop() {
			var in wire.SearchRequest
			if err := o.Body([]byte(body), &in); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("kin-openapi", func(b *testing.B) {
		check := kin(b)
		b.ReportAllocs()
		for b.Loop() {
			r := httptest.NewRequest(http.MethodPost, "/api/search", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			if err := check(r); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("kin-openapi-baseline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r := httptest.NewRequest(http.MethodPost, "/api/search", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
		}
	})
}

func kin(b *testing.B) func(*http.Request) error {
	router := openapitest.NewRouter(b, openapitest.Load(b))
	return func(r *http.Request) error {
		route, params, err := router.FindRoute(r)
		if err != nil {
			return err
		}
		return openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
			Request: r, Route: route, PathParams: params,
			Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
		})
	}
}
