package apigen

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/quarrysearch/quarry/schemas/openapi"
)

// object is a JSON object of the document.
type object = map[string]any

// goTypes maps schemas to types of package code, so that only values of those types
// compile.
var goTypes = map[string]string{"RepositoryNumber": "code.RepositoryNumber", "ConnectionNumber": "code.ConnectionNumber"}

// reduceDocument returns the document for the generator, with or without the operations.
func reduceDocument(t *testing.T, d *openapi.Document, operations bool) []byte {
	t.Helper()
	schemas := make(object)
	for _, s := range d.Components.Schemas {
		of := reduceSchema(t, mergeParts(d, s.Value))
		if name, found := goTypes[s.Name]; found {
			of["x-go-type"], of["x-go-type-import"] = name, object{"path": "github.com/quarrysearch/quarry/schemas/code"}
		}
		schemas[s.Name] = of
	}
	out := object{"openapi": d.OpenAPI, "info": d.Info, "paths": object{}, "components": object{"schemas": schemas}}
	if operations {
		out["paths"] = reducePaths(t, d)
	}
	b, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// mergeParts replaces the allOf of s with its members, in order. The generator would sort
// the members of all parts together.
func mergeParts(d *openapi.Document, s *openapi.Schema) *openapi.Schema {
	if len(s.AllOf) == 0 {
		return s
	}
	out := *s
	out.Type, out.AllOf = "object", nil
	for _, part := range s.AllOf {
		part = d.Schema(part)
		out.Properties, out.Required = append(out.Properties, part.Properties...), append(out.Required, part.Required...)
	}
	return &out
}

// reduceSchema returns s with extensions for the generator that define the order of the
// members and which of them are pointers.
func reduceSchema(t *testing.T, s *openapi.Schema) object {
	t.Helper()
	out := toObject(t, s)
	delete(out, "x-zero-counts")
	delete(out, "oneOf") // it lists which members go together; the struct has all of them
	switch {
	case s.ZeroCounts && s.Type == "array":
		out["x-omitempty"] = false // a nil slice is omitted, an empty one is written
	case s.ZeroCounts || s.Nullable && s.Type == "string" && s.Format == "":
		out["x-go-type-skip-optional-pointer"] = false
	case s.Type == "object" && len(s.Properties) == 0 && s.AdditionalProperties == nil:
		out["x-go-type"] = "json.RawMessage"
	}
	if s.Items != nil {
		out["items"] = reduceSchema(t, s.Items)
	}
	if more := s.AdditionalProperties; more != nil && more.Schema != nil {
		out["additionalProperties"] = reduceSchema(t, more.Schema)
	}
	properties := make(object)
	for i, m := range s.Properties {
		property := reduceSchema(t, m.Value)
		property["x-order"] = i + 1
		if m.Value.Ref != "" { // everything next to $ref is ignored
			property = object{"allOf": []any{object{"$ref": m.Value.Ref}}, "x-order": i + 1}
			if m.Value.ZeroCounts {
				property["x-go-type-skip-optional-pointer"] = false
			}
		}
		properties[m.Name] = property
	}
	if len(properties) > 0 {
		out["properties"] = properties
	}
	return out
}

// toObject converts v to a JSON object.
func toObject(t *testing.T, v any) object {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var out object
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}
