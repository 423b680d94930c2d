package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxWhole is the largest integer passed to a handler; larger ones are clamped to it.
// JSON numbers are not exact beyond it.
const maxWhole = 1 << 53

// Body checks a body and decodes it into v, which must have a field for every member that
// the handler reads.
func (o *Operation) Body(b []byte, v any) error {
	if o == nil || o.body == nil {
		return json.Unmarshal(b, v)
	}
	if len(bytes.TrimSpace(b)) == 0 && !o.bodyRequired {
		return nil
	}
	if !utf8.Valid(b) {
		return &Fault{Want: "JSON in UTF-8", Have: "bytes that are no UTF-8"}
	}
	var tree any
	if err := json.Unmarshal(b, &tree); err != nil {
		return syntaxFault(err)
	}
	exact := true
	if f := o.body.checkValue(tree, &exact); f != nil {
		return f
	}
	if exact && json.Unmarshal(b, v) == nil {
		return nil
	}
	// encoding/json does not follow JSON's rules for a number such as 1e3, a name such as
	// Query for query, or a duplicate member. Encode the tree again without them first.
	plain, err := json.Marshal(o.body.plainValue(tree))
	if err != nil {
		return fmt.Errorf("spell a body out: %w", err)
	}
	return json.Unmarshal(plain, v)
}

func syntaxFault(err error) *Fault {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return &Fault{Want: "valid JSON", Have: fmt.Sprintf("an error at byte %d: %s", e.Offset, e)}
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return &Fault{Want: "numbers that 64 bits hold", Have: quoteText(strings.TrimPrefix(e.Value, "number "))}
	}
	return &Fault{Want: "valid JSON", Have: quoteText(err.Error())}
}

// checkValue checks a value. It clears exact if encoding/json would read it differently.
func (s *schema) checkValue(v any, exact *bool) *Fault {
	if v == nil && s.nullable {
		return nil
	}
	for _, part := range s.all {
		if f := part.checkValue(v, exact); f != nil {
			return f
		}
	}
	switch s.kind {
	case "object":
		return s.checkObject(v, exact)
	case "array":
		return s.checkArray(v, exact)
	case "string":
		if text, ok := v.(string); ok {
			return s.checkString(text)
		}
	case "integer", "number":
		if n, ok := v.(float64); ok {
			return s.checkNumber(n, exact)
		}
	case "boolean":
		if _, ok := v.(bool); ok {
			return nil
		}
	default:
		return nil
	}
	return &Fault{Want: s.want, Have: kindOf(v)}
}

func (s *schema) checkNumber(n float64, exact *bool) *Fault {
	if s.kind == "integer" {
		if n != math.Trunc(n) {
			return &Fault{Want: s.want, Have: strconv.FormatFloat(n, 'g', -1, 64)}
		}
		*exact = *exact && math.Abs(n) <= maxWhole
	}
	if !s.inBounds(n) {
		return &Fault{Want: s.want, Have: strconv.FormatFloat(n, 'g', -1, 64)}
	}
	return nil
}

func (s *schema) checkArray(v any, exact *bool) *Fault {
	list, ok := v.([]any)
	if !ok {
		return &Fault{Want: s.want, Have: kindOf(v)}
	}
	if len(list) < s.minItems || s.maxItems >= 0 && len(list) > s.maxItems {
		return &Fault{Want: s.want, Have: strconv.Itoa(len(list))}
	}
	if s.items == nil {
		return nil
	}
	for i, item := range list {
		if f := s.items.checkValue(item, exact); f != nil {
			return f.prefixField("[" + strconv.Itoa(i) + "]")
		}
	}
	return nil
}

func (s *schema) checkObject(v any, exact *bool) *Fault {
	object, ok := v.(map[string]any)
	if !ok {
		return &Fault{Want: s.want, Have: kindOf(v)}
	}
	for _, name := range s.required {
		if _, there := object[name]; !there {
			return &Fault{Field: name, Want: s.members[name].want}
		}
	}
	if f := s.checkOneOf(object); f != nil {
		return f
	}
	var fault *Fault
	for name, value := range object {
		var f *Fault
		switch member := s.members[name]; {
		case member != nil:
			f = member.checkValue(value, exact)
		case s.closed:
			f = &Fault{Want: "no such member", Have: "one"}
		case s.rest != nil:
			f = s.rest.checkValue(value, exact)
		default:
			*exact = *exact && !s.matchesMember(name)
		}
		if f == nil {
			continue
		}
		// Report the first of several faults alphabetically, so that responses are
		// reproducible.
		if f.prefixField(name); fault == nil || f.Field < fault.Field {
			fault = f
		}
	}
	return fault
}

// checkOneOf checks that exactly one set of members is present.
func (s *schema) checkOneOf(object map[string]any) *Fault {
	if len(s.oneOf) == 0 {
		return nil
	}
	given, names := 0, make([]string, len(s.oneOf))
	for i, members := range s.oneOf {
		names[i] = strings.Join(members, " with ")
		if !slices.ContainsFunc(members, func(name string) bool { _, there := object[name]; return !there }) {
			given++
		}
	}
	have := "several"
	switch given {
	case 1:
		return nil
	case 0:
		have = "none"
	}
	return &Fault{Want: strings.Join(names, " or ") + ", one of them", Have: have}
}

// matchesMember reports whether encoding/json would match name to a member.
func (s *schema) matchesMember(name string) bool {
	for member := range s.members {
		if strings.EqualFold(name, member) {
			return true
		}
	}
	return false
}

// plainValue returns a checked value in a form that encoding/json reads correctly:
// without unknown members, and with integers in plain digits.
func (s *schema) plainValue(v any) any {
	switch v := v.(type) {
	case float64:
		if s.kind == "integer" {
			return int64(max(-maxWhole, min(v, maxWhole)))
		}
	case []any:
		if s.items != nil {
			for i := range v {
				v[i] = s.items.plainValue(v[i])
			}
		}
	case map[string]any:
		for name := range v {
			if member := s.members[name]; member != nil {
				v[name] = member.plainValue(v[name])
			} else if len(s.members) > 0 {
				delete(v, name)
			}
		}
	}
	return v
}

// kindOf returns the JSON type of a value.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case float64:
		return "a number"
	case string:
		return "text"
	case []any:
		return "an array"
	}
	return "an object"
}
