package openapi_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/openapi"
)

// TestOperationsAreWhole checks that every operation has a description, examples of
// all requests and responses, and its error responses.
func TestOperationsAreWhole(t *testing.T) {
	d := loadDocument(t)
	ids := make(map[string]bool)
	for _, path := range d.Paths {
		for _, m := range path.Value.Methods() {
			o := m.Operation
			for _, fault := range operationFaults(d, path.Value, o) {
				t.Errorf("%s %s: %s", m.Name, path.Name, fault)
			}
			if ids[o.OperationID] {
				t.Errorf("%s %s: operationId %s is taken", m.Name, path.Name, o.OperationID)
			}
			ids[o.OperationID] = true
		}
	}
}

func operationFaults(d *openapi.Document, p *openapi.Path, o *openapi.Operation) []string {
	var out []string
	fault := func(ok bool, what string) {
		if !ok {
			out = append(out, what)
		}
	}
	fault(o.OperationID != "" && o.Summary != "", "no operationId or summary")
	fault(len(strings.TrimSpace(strings.TrimPrefix(o.Description, "Addition."))) > 20, "no description")
	fault(len(o.Tags) == 1 && slices.ContainsFunc(d.Tags, func(t openapi.Tag) bool { return t.Name == o.Tags[0] }), "not one tag of the document's")
	for _, parameter := range d.Parameters(p, o) {
		fault(parameter.Description != "" && (parameter.Example != nil || parameter.Schema.Default != nil), "parameter "+parameter.Name+": no description or example")
	}
	if body := d.RequestBody(o.RequestBody); body != nil {
		fault(hasExamples(body.Content), "no example of the body")
	}
	failures := 0
	for _, a := range o.Responses {
		answer := d.Answer(a.Value)
		fault(answer.Description != "", a.Name+": no description")
		empty := a.Name == "204" || a.Name == "304" || a.Name == "202" && len(answer.Content) == 0
		fault(empty || hasExamples(answer.Content), a.Name+": no example")
		if a.Name >= "400" {
			failures++
			fault(isError(answer), a.Name+": not the Error object")
		}
	}
	fault(failures > 0, "no failure")
	return out
}

func hasExamples(content openapi.List[*openapi.Media]) bool {
	for _, media := range content {
		if media.Value.Example == nil && len(media.Value.Examples) == 0 {
			return false
		}
	}
	return len(content) > 0
}

func isError(a *openapi.Answer) bool {
	media := a.Content.Get("application/json")
	return media != nil && media.Schema.Name() == "Error"
}

// TestComponentsAreUsed checks that every component is referenced.
func TestComponentsAreUsed(t *testing.T) {
	b, err := loadDocument(t).JSON()
	if err != nil {
		t.Fatal(err)
	}
	used := make(map[string]bool)
	for _, m := range regexp.MustCompile(`"\$ref":"#/components/([^"]+)"`).FindAllStringSubmatch(string(b), -1) {
		used[m[1]] = true
	}
	var components map[string]map[string]json.RawMessage
	var document struct {
		Components json.RawMessage `json:"components"`
	}
	if err := json.Unmarshal(b, &document); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(document.Components, &components); err != nil {
		t.Fatal(err)
	}
	for kind, list := range components {
		for name := range list {
			if kind != "securitySchemes" && !used[kind+"/"+name] {
				t.Errorf("components/%s/%s is not used", kind, name)
			}
		}
	}
}

func loadDocument(t *testing.T) *openapi.Document {
	t.Helper()
	d, err := openapi.Load()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestNamesOfComponents checks that the names of components stay distinct when
// oapi-codegen makes Go types of them without a prefix, so that a generated client
// compiles without options.
func TestNamesOfComponents(t *testing.T) {
	d := loadDocument(t)
	for _, path := range d.Paths {
		for _, m := range path.Value.Methods() {
			id := m.Operation.OperationID
			if name := strings.ToUpper(id[:1]) + id[1:] + "Response"; d.Components.Schemas.Has(name) {
				t.Errorf("schema %s: clients give this name to the response of operation %s; rename the schema", name, id)
			}
		}
	}
	for _, body := range d.Components.RequestBodies {
		if d.Components.Responses.Has(body.Name) {
			t.Errorf("components/requestBodies and components/responses both have %s; rename one", body.Name)
		}
	}
}
