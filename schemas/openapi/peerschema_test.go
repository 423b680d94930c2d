package openapi_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"
)

// flattenAllOf returns s merged with the members of its allOf.
func flattenAllOf(s *openapi3.Schema) *openapi3.Schema {
	if len(s.AllOf) == 0 {
		return s
	}
	out := *s
	out.AllOf, out.Properties = nil, maps.Clone(s.Properties)
	if out.Properties == nil {
		out.Properties = make(openapi3.Schemas)
	}
	for _, part := range s.AllOf {
		p := flattenAllOf(part.Value)
		if out.Type == nil {
			out.Type = p.Type
		}
		if len(out.Enum) == 0 {
			out.Enum = p.Enum
		}
		maps.Copy(out.Properties, p.Properties)
		out.Required = append(slices.Clip(out.Required), p.Required...)
	}
	return &out
}

// containsType reports whether every value that matches b also matches a.
func containsType(a, b *openapi3.Schema) bool {
	if a.Type == nil || b.Type == nil {
		return a.Type == nil
	}
	return a.Type.Is(b.Type.Slice()[0]) || a.Type.Is("number") && b.Type.Is("integer")
}

// valuesOutside returns a value of a that is not in b. If a is empty, it allows any
// value.
func valuesOutside(a, b []any) string {
	if len(a) == 0 {
		return "any value"
	}
	for _, v := range a {
		if !slices.Contains(b, v) {
			return fmt.Sprint(v)
		}
	}
	return ""
}

// isClosed reports whether an object of s must not have members other than those in s.
func isClosed(s *openapi3.Schema) bool {
	return s.AdditionalProperties.Has != nil && !*s.AdditionalProperties.Has
}

// limit is a bound, or none if set is false. A higher value is tighter, unless it is an upper bound.
type limit struct {
	set, upper bool
	value      float64
}

func (l limit) isTighter(m limit) bool {
	switch {
	case !l.set:
		return false
	case !m.set:
		return true
	case l.upper:
		return l.value < m.value
	}
	return l.value > m.value
}

func (l limit) String() string {
	if !l.set {
		return "none"
	}
	return strconv.FormatFloat(l.value, 'f', -1, 64)
}

type boundPair struct {
	name         string
	theirs, ours limit
}

func boundPairs(theirs, ours *openapi3.Schema) []boundPair {
	return []boundPair{
		{"minimum", minimumOf(theirs), minimumOf(ours)},
		{"maximum", upperLimit(theirs.Max), upperLimit(ours.Max)},
		{"minLength", lowerLimit(theirs.MinLength), lowerLimit(ours.MinLength)},
		{"maxLength", upperLimit(theirs.MaxLength), upperLimit(ours.MaxLength)},
		{"minItems", lowerLimit(theirs.MinItems), lowerLimit(ours.MinItems)},
		{"maxItems", upperLimit(theirs.MaxItems), upperLimit(ours.MaxItems)},
	}
}

// minimumOf returns the lower bound of s. An integer above 0 is at least 1.
func minimumOf(s *openapi3.Schema) limit {
	if s.Min == nil {
		return limit{}
	}
	value := *s.Min
	if s.ExclusiveMin.IsTrue() {
		value++
	}
	return limit{set: true, value: value}
}

func lowerLimit(n uint64) limit { return limit{set: n > 0, value: float64(n)} }

func upperLimit[N uint64 | float64](n *N) limit {
	if n == nil {
		return limit{upper: true}
	}
	return limit{set: true, upper: true, value: float64(*n)}
}
