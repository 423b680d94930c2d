package manual

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/schemas/openapi"
)

// renderer converts the document to the data of the template.
type renderer struct{ document *openapi.Document }

func (r *renderer) renderOperation(method, path string, p *openapi.Path, o *openapi.Operation) operation {
	out := operation{Operation: o, Method: method, Path: path}
	for _, q := range r.document.Parameters(p, o) {
		example := literalValue(q.Example)
		if example == "" {
			example = literalValue(r.document.Schema(q.Schema).Default)
		}
		out.Parameters = append(out.Parameters, parameter{q, r.typeOf(q.Schema), example})
	}
	if b := r.document.RequestBody(o.RequestBody); b != nil {
		out.Body = r.renderBody(b.Content)
	}
	for _, m := range o.Responses {
		out.Answers = append(out.Answers, r.renderAnswer(m.Name, r.document.Answer(m.Value)))
	}
	out.Curl = r.renderCurl(&out)
	return out
}

func (r *renderer) renderAnswer(status string, a *openapi.Answer) answer {
	out := answer{Status: status, Description: a.Description, Body: r.renderBody(a.Content)}
	for _, h := range a.Headers {
		out.Headers = append(out.Headers, header{h.Name, r.document.Header(h.Value).Description})
	}
	return out
}

// renderBody renders the first content type: no body has two.
func (r *renderer) renderBody(content openapi.List[*openapi.Media]) *body {
	if len(content) == 0 {
		return nil
	}
	media := content[0].Value
	shown, example := media.Schema, media.Example
	if media.Frames != nil {
		shown = media.Frames
	}
	if example == nil && len(media.Examples) > 0 {
		example = media.Examples[0].Value.Value
	}
	return &body{r.typeOf(shown), indentExample(example)}
}

// renderCurl returns a curl command for the operation with its example values.
func (r *renderer) renderCurl(o *operation) string {
	var b strings.Builder
	b.WriteString("curl")
	if o.Method != "GET" {
		b.WriteString(" -X " + o.Method)
	}
	if o.Access != openapi.AccessOpen {
		b.WriteString(` -H "Authorization: Bearer $QUARRY_API_KEY"`)
	}
	path, query := o.Path, ""
	for i := range o.Parameters {
		p := &o.Parameters[i]
		switch {
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(p.Example))
		case p.In == "query" && p.Required:
			query += "&" + p.Name + "=" + url.QueryEscape(p.Example)
		}
	}
	if o.Body != nil {
		b.WriteString(" -H 'Content-Type: application/json' -d '" + strings.ReplaceAll(compactJSON(o.Body.Example), "'", `'\''`) + "'")
	}
	base := ""
	if len(r.document.Servers) > 0 {
		base = r.document.Servers[0].URL
	}
	fmt.Fprintf(&b, " '%s%s'", base, strings.Replace(path+query, "&", "?", 1))
	return b.String()
}

func (r *renderer) renderShape(name string, s *openapi.Schema) shape {
	out := shape{Name: name, Description: s.Description}
	for _, part := range append([]*openapi.Schema{s}, s.AllOf...) {
		if part.Ref != "" {
			part = r.document.Schema(part)
		}
		for _, m := range part.Properties {
			description := m.Value.Description
			out.Members = append(out.Members, member{m.Name, description, r.typeOf(m.Value), slices.Contains(part.Required, m.Name)})
		}
	}
	if len(out.Members) == 0 {
		out.Type = r.typeOf(s)
	}
	return out
}

// typeOf describes a type, with links to named schemas.
func (r *renderer) typeOf(s *openapi.Schema) template.HTML {
	text := template.HTMLEscapeString
	var out string
	switch {
	case s.Ref != "":
		out = fmt.Sprintf(`<a href="#schema-%s">%[1]s</a>`, text(s.Name()))
	case len(s.Enum) > 0:
		words := make([]string, len(s.Enum))
		for i, w := range s.Enum {
			words[i] = "<code>" + text(literalValue(w)) + "</code>"
		}
		out = "one of " + strings.Join(words, ", ")
	case s.Type == "array" && s.Items != nil:
		out = "array of " + string(r.typeOf(s.Items))
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		out = "object by name, each " + string(r.typeOf(s.AdditionalProperties.Schema))
	case s.Format == "date-time":
		out = "time"
	case s.Type == "":
		out = "anything"
	default:
		out = text(s.Type)
	}
	out += text(describeLimits(s))
	if s.Nullable {
		out += " or null"
	}
	return template.HTML(out) // every text is escaped above
}

// describeLimits describes the bounds of a value.
func describeLimits(s *openapi.Schema) string {
	var parts []string
	number := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	if s.Minimum != nil {
		word := "from "
		if s.ExclusiveMinimum {
			word = "above "
		}
		parts = append(parts, word+number(*s.Minimum))
	}
	if s.Maximum != nil {
		parts = append(parts, "to "+number(*s.Maximum))
	}
	if s.MinLength > 0 {
		parts = append(parts, fmt.Sprintf("at least %d characters", s.MinLength))
	}
	if s.MaxLength != nil {
		parts = append(parts, fmt.Sprintf("at most %d characters", *s.MaxLength))
	}
	if s.MinItems > 0 {
		parts = append(parts, fmt.Sprintf("at least %d", s.MinItems))
	}
	if s.MaxItems != nil {
		parts = append(parts, fmt.Sprintf("at most %d", *s.MaxItems))
	}
	if s.Pattern != "" {
		parts = append(parts, "as "+s.Pattern)
	}
	if s.Default != nil {
		parts = append(parts, "default "+literalValue(s.Default))
	}
	if len(parts) == 0 {
		return ""
	}
	return ", " + strings.Join(parts, ", ")
}

// literalValue returns a value as written in a URL: text without quotes.
func literalValue(v openapi.Value) string {
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text
	}
	return string(v)
}

// indentExample returns an example over several lines; text examples stay text.
func indentExample(v openapi.Value) string {
	var b bytes.Buffer
	if len(v) == 0 || v[0] == '"' || json.Indent(&b, v, "", "  ") != nil {
		return strings.TrimSpace(literalValue(v))
	}
	return b.String()
}

func compactJSON(text string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) != nil {
		return text
	}
	return b.String()
}
