package contract

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/schemas/openapi"
)

// schema is a compiled schema.
type schema struct {
	kind     string // a type of JSON Schema; empty for any
	nullable bool
	want     string // description in words

	enum                 []string
	minimum, maximum     *float64
	exclusive            bool
	minLength, maxLength int // maxLength -1: no bound
	pattern              *regexp.Regexp
	format               string
	items                *schema
	minItems, maxItems   int // maxItems -1: no bound
	members              map[string]*schema
	required             []string
	oneOf                [][]string // sets of members; exactly one set must be present
	closed               bool
	rest                 *schema // of members without a schema of their own; nil: anything
	all                  []*schema
}

// compiler compiles the schemas of a document. A named schema is compiled once, because
// it may contain itself.
type compiler struct {
	document *openapi.Document
	named    map[string]*schema
}

func (c *compiler) compileOperation(p *openapi.Path, o *openapi.Operation) (*Operation, error) {
	out := new(Operation)
	for _, parameter := range c.document.Parameters(p, o) {
		compiled, err := c.compileParameter(parameter)
		if err != nil {
			return nil, fmt.Errorf("parameter %s: %w", parameter.Name, err)
		}
		switch parameter.In {
		case "path":
			out.path = append(out.path, compiled)
		case "query":
			out.query = append(out.query, compiled)
		}
	}
	body := c.document.RequestBody(o.RequestBody)
	if body == nil {
		return out, nil
	}
	out.bodyRequired = body.Required
	media := body.Content.Get("application/json")
	if media == nil {
		return out, nil
	}
	var err error
	if out.body, err = c.compileSchema(media.Schema); err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	return out, nil
}

func (c *compiler) compileParameter(p *openapi.Parameter) (parameter, error) {
	s, err := c.compileSchema(p.Schema)
	if err != nil {
		return parameter{}, err
	}
	if s.pattern != nil && p.Example != nil {
		own := *s
		own.want = "text such as " + strings.Trim(string(p.Example), `"`)
		s = &own
	}
	fallback := strings.Trim(string(c.document.Schema(p.Schema).Default), `"`)
	return parameter{name: p.Name, required: p.Required, schema: s, fallback: fallback}, nil
}

func (c *compiler) compileSchema(s *openapi.Schema) (*schema, error) {
	name := s.Name()
	if name == "" {
		return c.fillSchema(new(schema), s)
	}
	if known := c.named[name]; known != nil {
		return known, nil
	}
	target := c.document.Schema(s)
	if target == nil {
		return nil, fmt.Errorf("no schema %s", name)
	}
	out := new(schema)
	c.named[name] = out
	return c.fillSchema(out, target)
}

func (c *compiler) fillSchema(out *schema, s *openapi.Schema) (*schema, error) {
	out.kind, out.nullable, out.format = s.Type, s.Nullable, s.Format
	out.minimum, out.maximum, out.exclusive = s.Minimum, s.Maximum, s.ExclusiveMinimum
	out.minLength, out.maxLength = s.MinLength, boundOrNone(s.MaxLength)
	out.minItems, out.maxItems = s.MinItems, boundOrNone(s.MaxItems)
	out.required = s.Required
	for _, option := range s.OneOf {
		out.oneOf = append(out.oneOf, option.Required)
	}
	for _, v := range s.Enum {
		out.enum = append(out.enum, strings.Trim(string(v), `"`))
	}
	var err error
	if s.Pattern != "" {
		if out.pattern, err = regexp.Compile(s.Pattern); err != nil {
			return nil, err
		}
	}
	if err := c.compileParts(out, s); err != nil {
		return nil, err
	}
	out.want = out.describeValue()
	if out.pattern != nil && s.Example != nil {
		out.want = "text such as " + strings.Trim(string(s.Example), `"`)
	}
	return out, nil
}

// compileParts compiles the schemas within s.
func (c *compiler) compileParts(out *schema, s *openapi.Schema) (err error) {
	if s.Items != nil {
		if out.items, err = c.compileSchema(s.Items); err != nil {
			return err
		}
	}
	for _, part := range s.AllOf {
		compiled, err := c.compileSchema(part)
		if err != nil {
			return err
		}
		out.all = append(out.all, compiled)
	}
	if more := s.AdditionalProperties; more != nil {
		out.closed = more.Closed
		if more.Schema != nil {
			if out.rest, err = c.compileSchema(more.Schema); err != nil {
				return err
			}
		}
	}
	out.members = make(map[string]*schema, len(s.Properties))
	for _, m := range s.Properties {
		if out.members[m.Name], err = c.compileSchema(m.Value); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return nil
}

func boundOrNone(n *int) int {
	if n == nil {
		return -1
	}
	return *n
}

// describeValue describes valid values in words.
func (s *schema) describeValue() string {
	switch s.kind {
	case "object":
		return "a JSON object"
	case "array":
		return "an array" + describeRange(s.minItems, s.maxItems, "elements")
	case "boolean":
		return "true or false"
	case "integer":
		return "a whole number" + s.describeLimits()
	case "number":
		return "a number" + s.describeLimits()
	case "string":
		return s.describeText()
	}
	return "a value"
}

func (s *schema) describeText() string {
	switch {
	case len(s.enum) > 0:
		return "one of " + strings.Join(s.enum, ", ")
	case s.format == "date-time":
		return "a time such as 2026-03-04T03:06:07Z"
	}
	out := "text" + describeRange(s.minLength, s.maxLength, "characters")
	if s.pattern != nil {
		out += " that match " + s.pattern.String()
	}
	return out
}

func describeRange(low, high int, of string) string {
	switch {
	case high >= 0 && low > 0:
		return fmt.Sprintf(" of %d to %d %s", low, high, of)
	case high >= 0:
		return fmt.Sprintf(" of at most %d %s", high, of)
	case low == 1:
		return " that is not empty"
	case low > 0:
		return fmt.Sprintf(" of at least %d %s", low, of)
	}
	return ""
}

func (s *schema) describeLimits() string {
	low := 0.0
	if s.minimum != nil {
		low = *s.minimum
	}
	if s.exclusive && s.kind == "integer" {
		low++ // "above 0" then means "at least 1"
	}
	switch {
	case s.minimum != nil && s.maximum != nil:
		return fmt.Sprintf(" of %.0f to %.0f", low, *s.maximum)
	case s.minimum != nil:
		return fmt.Sprintf(" of at least %.0f", low)
	case s.maximum != nil:
		return fmt.Sprintf(" of at most %.0f", *s.maximum)
	}
	return ""
}

func formatCharacters(n int) string { return fmt.Sprintf("%d characters", n) }

// checkString checks a string in a path, a query or a body.
func (s *schema) checkString(text string) *Fault {
	have := ""
	switch {
	case !utf8.ValidString(text):
		have = "bytes that are no UTF-8"
	case len(s.enum) > 0 && !containsWord(s.enum, text):
		have = quoteText(text)
	case s.minLength > 0 && utf8.RuneCountInString(text) < s.minLength:
		have = formatCharacters(utf8.RuneCountInString(text))
	case s.maxLength >= 0 && len(text) > s.maxLength && utf8.RuneCountInString(text) > s.maxLength:
		have = formatCharacters(utf8.RuneCountInString(text))
	case s.pattern != nil && !s.pattern.MatchString(text):
		have = quoteText(text)
	case s.format == "date-time" && !isTime(text):
		have = quoteText(text)
	default:
		return nil
	}
	return &Fault{Want: s.want, Have: have}
}

func containsWord(list []string, word string) bool {
	for i := range list {
		if list[i] == word {
			return true
		}
	}
	return false
}
