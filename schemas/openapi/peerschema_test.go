package openapi_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"
)

// flatten returns s with the members of its allOf.
func flatten(s *openapi3.Schema) *openapi3.Schema {
	if len(s.AllOf) == 0 {
		return s
	}
	out := *s
	out.AllOf, out.Properties = nil, maps.Clone(s.Properties)
	if out.Properties == nil {
		out.Properties = make(openapi3.Schemas)
	}
	for _, part := range s.AllOf {
		p := flatten(part.Value)
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

// contains reports whether a value of the type of b is of the type of a.
func contains(a, b *openapi3.Schema) bool {
	if a.Type == nil || b.Type == nil {
		return a.Type == nil
	}
	return a.Type.Is(b.Type.Slice()[0]) || a.Type.Is("number") && b.Type.Is("integer")
}

// valuesOutside returns a value of a that is not in b; without values, a has any.
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

// closed reports whether an object of s has no other members than those of s.
func closed(s *openapi3.Schema) bool {
	return s.AdditionalProperties.Has != nil && !*s.AdditionalProperties.Has
}

// limit is a bound, or none if set is false. A higher value is tighter, unless it is an upper bound.
type limit struct {
	set, upper bool
	value      float64
}

func (l limit) tighter(m limit) bool {
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

func bounds(theirs, ours *openapi3.Schema) []boundPair {
	return []boundPair{
		{"minimum", minimum(theirs), minimum(ours)},
		{"maximum", upper(theirs.Max), upper(ours.Max)},
		{"minLength", lower(theirs.MinLength), lower(ours.MinLength)},
		{"maxLength", upper(theirs.MaxLength), upper(ours.MaxLength)},
		{"minItems", lower(theirs.MinItems), lower(ours.MinItems)},
		{"maxItems", upper(theirs.MaxItems), upper(ours.MaxItems)},
	}
}

// minimum returns the lower bound of s. An integer above 0 is at least 1.
func minimum(s *openapi3.Schema) limit {
	if s.Min == nil {
		return limit{}
	}
	value := *s.Min
	if s.ExclusiveMin.IsTrue() {
		value++
	}
	return limit{set: true, value: value}
}

func lower(n uint64) limit { return limit{set: n > 0, value: float64(n)} }

func upper[N uint64 | float64](n *N) limit {
	if n == nil {
		return limit{upper: true}
	}
	return limit{set: true, upper: true, value: float64(*n)}
}
