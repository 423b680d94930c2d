package api

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// What stays written by hand has the shape of the generated struct, both ways: the
// same members, with the same types of JSON. Search answers are here because they
// are written file by file, and frames and heads because other packages fill them in.
func TestBodiesByHandHaveTheirShape(t *testing.T) {
	for _, tc := range []struct{ hand, generated any }{
		{search.Explain{}, wire.SearchExplain{}},
		{searchResponse{}, wire.SearchResult{}},
		{parts{streamChunk{}, streamFinal{}, streamError{}}, wire.StreamFrame{}},
	} {
		hands, ok := tc.hand.(parts)
		if !ok {
			hands = parts{tc.hand}
		}
		left, generated := make(map[string]reflect.Type), reflect.TypeOf(tc.generated)
		for _, hand := range hands {
			maps.Copy(left, jsonMembers(reflect.TypeOf(hand)))
		}
		if name := generated.Name(); name == "SearchResult" || name == "StreamFrame" {
			left["files"] = reflect.TypeFor[fileArray]()
		}
		for _, fault := range compareMembers(left, jsonMembers(generated), generated.Name(), 0) {
			t.Error(fault)
		}
	}
}

// parts are structs that fill one schema together.
type parts []any

// compareShapes returns in which members two types differ in JSON.
func compareShapes(a, b reflect.Type, path string, depth int) []string {
	a, b = elementType(a), elementType(b)
	ka, kb := kindInJSON(a), kindInJSON(b)
	if ka != kb && ka != "any" && kb != "any" {
		return []string{path + ": " + ka + " and " + kb}
	}
	if ka != "object" || kb != "object" || depth > 8 {
		return nil
	}
	return compareMembers(jsonMembers(a), jsonMembers(b), path, depth)
}

func compareMembers(left, right map[string]reflect.Type, path string, depth int) []string {
	var faults []string
	for name, field := range left {
		if other, ok := right[name]; !ok {
			faults = append(faults, path+"."+name+" is not in the document")
		} else {
			faults = append(faults, compareShapes(field, other, path+"."+name, depth+1)...)
		}
	}
	for name := range right {
		if _, ok := left[name]; !ok {
			faults = append(faults, path+"."+name+" is in the document alone")
		}
	}
	return faults
}

// elementType takes pointers and lists off a type.
func elementType(t reflect.Type) reflect.Type {
	if t == reflect.TypeFor[fileArray]() {
		return reflect.TypeFor[wire.SearchFile]() // TestFilesAreThoseOfEncodingJSON has their shape
	}
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 {
		t = t.Elem()
	}
	return t
}

var marshaler = reflect.TypeFor[json.Marshaler]()

func kindInJSON(t reflect.Type) string {
	switch {
	case t.Implements(marshaler), t.Kind() == reflect.String, t.Kind() == reflect.Slice:
		return "text"
	case t.Kind() == reflect.Struct:
		return "object"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Interface, t.Kind() == reflect.Map:
		return "any"
	}
	return "number"
}

// jsonMembers returns the members that encoding/json writes of a struct.
func jsonMembers(t reflect.Type) map[string]reflect.Type {
	out := make(map[string]reflect.Type)
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || name == "" && !f.Anonymous:
		case name == "": // embedded: what the outer struct has goes before
			for name, field := range jsonMembers(elementType(f.Type)) {
				if _, taken := out[name]; !taken {
					out[name] = field
				}
			}
		default:
			out[name] = f.Type
		}
	}
	return out
}
