package clienttest

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

// comparison compares a client's result with the response of the server.
type comparison struct {
	// subset allows the client to lose members that its document does not have.
	subset bool
	// float32 allows the client to keep numbers as float32, as oapi-codegen does for the
	// type number. IDs must be exact, because they are sent back.
	float32 bool
}

// firstDifference returns a description of the first difference, or an empty string.
func (c comparison) firstDifference(sent, understood any, path string) string {
	switch sent := sent.(type) {
	case map[string]any:
		object, ok := understood.(map[string]any)
		if !ok {
			break
		}
		for name, value := range sent {
			got, there := object[name]
			if !there && (c.subset || value == nil) {
				continue
			}
			if !there {
				return fmt.Sprintf("%s.%s was lost", path, name)
			}
			if d := c.firstDifference(value, got, path+"."+name); d != "" {
				return d
			}
		}
		for name, value := range object {
			if _, there := sent[name]; !there && value != nil {
				return fmt.Sprintf("%s.%s was not sent", path, name)
			}
		}
		return ""
	case []any:
		list, ok := understood.([]any)
		if !ok || len(list) != len(sent) {
			break
		}
		for i := range sent {
			if d := c.firstDifference(sent[i], list[i], path); d != "" {
				return d
			}
		}
		return ""
	case json.Number:
		if number, ok := understood.(json.Number); ok && c.sameNumber(sent, number, path) {
			return ""
		}
	case string:
		if text, ok := understood.(string); ok && sameText(sent, text) {
			return ""
		}
	default:
		if reflect.DeepEqual(sent, understood) {
			return ""
		}
	}
	return fmt.Sprintf("%s: %v was sent, the client has %v", path, sent, understood)
}

func (c comparison) sameNumber(a, b json.Number, path string) bool {
	x, errX := a.Float64()
	y, errY := b.Float64()
	if errX != nil || errY != nil {
		return false
	}
	isID := strings.HasSuffix(strings.ToLower(path), "id") || strings.HasSuffix(path, "Ids")
	if c.float32 && !isID {
		return math.Abs(x-y) <= math.Abs(x)*1e-6
	}
	return x == y
}

// sameText compares strings, and times by value, because clients may format them
// differently.
func sameText(a, b string) bool {
	x, errX := time.Parse(time.RFC3339, a)
	y, errY := time.Parse(time.RFC3339, b)
	return a == b || errX == nil && errY == nil && x.Equal(y)
}

// TestComparison checks that each possible loss is found.
func TestComparison(t *testing.T) {
	const sent = `{"id":1099511627777,"wait":412345678,"at":"2026-03-04T03:06:07.010Z","files":[{"repositoryId":3}],"note":null}`
	for _, tc := range []struct {
		understood string
		comparison
		want string
	}{
		{sent, comparison{}, ""},
		{`{"id":1099511627777,"wait":412345678,"at":"2026-03-04T03:06:07.01Z","files":[{"repositoryId":3}]}`, comparison{}, ""},
		{`{"id":1099511600000,"wait":412345678,"at":"2026-03-04T03:06:07.010Z","files":[{"repositoryId":3}]}`, comparison{float32: true}, ".id: "},
		{`{"id":1099511627777,"wait":412345660,"at":"2026-03-04T03:06:07.010Z","files":[{"repositoryId":3}]}`, comparison{}, ".wait: "},
		{`{"id":1099511627777,"wait":412345660,"at":"2026-03-04T03:06:07.010Z","files":[{"repositoryId":3}]}`, comparison{float32: true}, ""},
		{`{"id":1099511627777,"wait":412345678,"at":"2026-03-04T03:06:07Z","files":[{"repositoryId":3}]}`, comparison{}, ".at: "},
		{`{"id":1099511627777,"at":"2026-03-04T03:06:07.010Z","files":[{"repositoryId":3}]}`, comparison{}, ".wait was lost"},
		{`{"id":1099511627777,"at":"2026-03-04T03:06:07.010Z","files":[{"repositoryId":3}]}`, comparison{subset: true}, ""},
		{`{"id":1099511627777,"wait":412345678,"at":"2026-03-04T03:06:07.010Z","files":[]}`, comparison{subset: true}, ".files: "},
		{`{"id":1099511627777,"wait":412345678,"at":"2026-03-04T03:06:07.010Z","files":[{"repositoryId":3,"more":1}]}`, comparison{}, ".files.more was not sent"},
	} {
		got := tc.firstDifference(decodeNumbers(t, sent), decodeNumbers(t, tc.understood), "")
		if tc.want == "" && got != "" || !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.understood, got, tc.want)
		}
	}
}

// decodeNumbers decodes JSON and keeps the spelling of its numbers.
func decodeNumbers(t *testing.T, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}
