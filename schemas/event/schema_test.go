package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func schemaPath(t Type) string {
	return filepath.Join("..", "events", shortName(t)+".schema.json")
}

func compileSchema(t *testing.T, typ Type) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	schema, err := compiler.Compile(schemaPath(typ))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func mustUnmarshal(t *testing.T, b []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestEncodedEventsMatchSchemas validates the events that this build writes, and the
// samples from earlier versions.
func TestEncodedEventsMatchSchemas(t *testing.T) {
	for _, ev := range slices.Concat(fullEvents(), minimalEvents(), otherEvents()) {
		schema := compileSchema(t, ev.EventType())
		if err := schema.Validate(mustUnmarshal(t, mustEncode(t, ev).Value)); err != nil {
			t.Errorf("%s encoded now: %v", ev.EventType(), err)
		}
		for _, path := range samplePaths(t, ev.EventType()) {
			sample, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(mustUnmarshal(t, parseSample(t, sample).Value)); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

// TestSchemasRefuse checks that the schemas reject invalid events.
func TestSchemasRefuse(t *testing.T) {
	for _, test := range []struct {
		typ   Type
		value string
	}{
		{TypePush, `{"repository":1,"action":"refresh"}`},
		{TypePush, `{"repository":1,"action":"merged","receivedAt":"2026-11-21T10:00:00Z"}`},
		{TypePush, `{"repository":1,"action":"refresh","receivedAt":"yesterday"}`},
		{TypeRepositoryRemoved, `{"repository":"1","at":"2026-11-21T10:00:00Z"}`},
		{TypeUserRemoved, `{"user":"a/b","by":{"kind":"system"},"at":"2026-11-21T10:00:00Z"}`},
		{TypeUserRemoved, `{"user":"a","by":{"kind":"root"},"at":"2026-11-21T10:00:00Z"}`},
		{TypeActivityNoted, `{"users":{"u":"yesterday"},"at":"2026-11-21T10:00:00Z"}`},
		{TypeNumbersAssigned, `{"repositories":[0],"at":"2026-11-21T10:00:00Z"}`},
		{TypeStoreIdentified, `{"store":"0f","at":"2026-11-21T10:00:00Z"}`},
		{TypeSegmentsMerged, `{"partition":0,"inputs":["xyz"],"at":"2026-11-21T10:00:00Z"}`},
	} {
		if compileSchema(t, test.typ).Validate(mustUnmarshal(t, []byte(test.value))) == nil {
			t.Errorf("%s: schema accepts %s", test.typ, test.value)
		}
	}
}

// TestSchemasDescribeEveryField compares the field names of an event that has all fields
// with the properties of its schema, in both directions.
func TestSchemasDescribeEveryField(t *testing.T) {
	for _, ev := range fullEvents() {
		described, maps := map[string]bool{}, map[string]bool{}
		for _, f := range readFields(t, schemaPath(ev.EventType())) {
			described[f.path] = true
			maps[f.path] = strings.Contains(f.rule, `"additionalProperties"`)
		}
		written := map[string]bool{}
		for _, with := range append(otherEvents(), ev) {
			if with.EventType() == ev.EventType() {
				fieldNames("", mustUnmarshal(t, mustEncode(t, with).Value), maps, written)
			}
		}
		for name := range written {
			if !described[name] {
				t.Errorf("%s: schema does not describe %s", ev.EventType(), name)
			}
		}
		for name := range described {
			if !written[name] {
				t.Errorf("%s: schema describes %s, which no event has", ev.EventType(), name)
			}
		}
	}
}

// fieldNames adds the names of v's fields to names. The fields of maps are data.
func fieldNames(prefix string, v any, maps, names map[string]bool) {
	if maps[prefix] {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			names[prefix+"/"+name] = true
			fieldNames(prefix+"/"+name, value, maps, names)
		}
	case []any:
		for _, element := range v {
			fieldNames(prefix+"[]", element, maps, names)
		}
	}
}

// field is one field of an event version, as its schema describes it.
type field struct {
	path     string // "/repository/name", "/changes[]/path"
	required bool
	rule     string // every keyword except the description
}

// schemaNode is the part of JSON Schema that our schemas use.
type schemaNode struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Items      json.RawMessage            `json:"items"`
	Required   []string                   `json:"required"`
}

func readFields(t *testing.T, path string) []field {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := fieldsOf("", b)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	slices.SortFunc(fields, func(a, b field) int { return strings.Compare(a.path, b.path) })
	return fields
}

func fieldsOf(prefix string, schema []byte) ([]field, error) {
	var node schemaNode
	if err := json.Unmarshal(schema, &node); err != nil {
		return nil, err
	}
	var fields []field
	for name, property := range node.Properties {
		rule, err := ruleOf(property)
		if err != nil {
			return nil, err
		}
		fields = append(fields, field{prefix + "/" + name, slices.Contains(node.Required, name), rule})
		nested, err := fieldsOf(prefix+"/"+name, property)
		if err != nil {
			return nil, err
		}
		fields = append(fields, nested...)
	}
	if node.Items == nil {
		return fields, nil
	}
	nested, err := fieldsOf(prefix+"[]", node.Items)
	return append(fields, nested...), err
}

// ruleOf returns the requirements of a schema except those on fields, as JSON with sorted
// keys.
func ruleOf(schema []byte) (string, error) {
	var keywords map[string]any
	if err := json.Unmarshal(schema, &keywords); err != nil {
		return "", err
	}
	dropNested(keywords)
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(keywords)
	return strings.TrimSpace(b.String()), err
}

func dropNested(keywords map[string]any) {
	for _, name := range []string{"description", "properties", "required"} {
		delete(keywords, name)
	}
	if items, ok := keywords["items"].(map[string]any); ok {
		dropNested(items)
	}
}

func (f field) String() string {
	need := "optional"
	if f.required {
		need = "required"
	}
	return fmt.Sprintf("%s %s %s", f.path, need, f.rule)
}
