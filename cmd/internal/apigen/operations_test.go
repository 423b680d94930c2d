package apigen

import (
	"regexp"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/openapi"
)

// reducePaths returns the operations whose bodies have a name, in the form that the
// templates expect. Extensions describe the parameters and results.
func reducePaths(t *testing.T, d *openapi.Document) object {
	t.Helper()
	out := make(object)
	for _, path := range d.Paths {
		item := make(object)
		for _, m := range path.Value.Methods() {
			if o := reduceOperation(d, path.Name, path.Value, m.Operation); o != nil {
				item[strings.ToLower(m.Name)] = o
			}
		}
		if len(item) > 0 {
			out[path.Name] = item
		}
	}
	return out
}

var placeholder = regexp.MustCompile(`\{[^}]*\}`)

// pathOfMCP is left out because it uses another protocol, which has its own clients.
const pathOfMCP = "/api/mcp"

// reduceOperation returns nil for an operation that is not a JSON call: a page, this
// document, another protocol, or an upload.
func reduceOperation(d *openapi.Document, path string, p *openapi.Path, o *openapi.Operation) object {
	kind, result := resultOf(d, o)
	body := d.RequestBody(o.RequestBody)
	if kind == "" || path == pathOfMCP || body != nil && body.Content.Get("application/json") == nil {
		return nil
	}
	out := object{
		"operationId": o.OperationID, "summary": o.Summary, "x-kind": kind, "x-result": result, "x-comment": wrapComment(o.Description),
		"x-format": placeholder.ReplaceAllString(path, "%s"), "responses": object{"200": object{"description": "ok"}},
	}
	// An open operation other than GET signs a user in. A 503 does not prove that the
	// sign-in failed.
	if o.Access != openapi.AccessOwner && o.Access != openapi.AccessOperator && o.Access != openapi.AccessMember && (o.Access != openapi.AccessOpen || o == p.Get) {
		out["x-reads"] = true
	}
	var parameters []any
	for _, q := range d.Parameters(p, o) {
		s := d.Schema(q.Schema)
		kept := object{"type": s.Type}
		if s.Format != "" {
			kept["format"] = s.Format
		}
		parameters = append(parameters, object{"name": q.Name, "in": q.In, "required": q.Required, "schema": kept, "x-comment": wrapComment(q.Description)})
	}
	out["parameters"] = parameters
	if body != nil {
		name := body.Content.Get("application/json").Schema.Name()
		out["x-body"] = "wire." + name
		out["requestBody"] = object{"content": object{"application/json": object{"schema": object{"$ref": "#/components/schemas/" + name}}}}
	}
	return out
}

// resultOf returns the result of an operation: a page, list, stream or object of a type,
// or nothing.
func resultOf(d *openapi.Document, o *openapi.Operation) (kind, result string) {
	for _, m := range o.Responses {
		if m.Name >= "300" {
			break
		}
		answer := d.Answer(m.Value)
		if len(answer.Content) == 0 {
			return "nothing", ""
		}
		media := answer.Content[0].Value
		s := media.Schema
		switch {
		case media.Frames != nil:
			return "stream", "wire." + media.Frames.Name()
		case answer.Content[0].Name != "application/json":
			return "", ""
		case s.Type == "array" && answer.Headers.Has("Link"):
			return "page", "wire." + s.Items.Name()
		case s.Type == "array":
			return "list", "wire." + s.Items.Name()
		case s.Name() != "":
			return "object", "wire." + s.Name()
		}
	}
	return "", ""
}

// lineBytes bounds a line of a comment.
const lineBytes = 100

// wrapComment returns text as lines of a comment.
func wrapComment(text string) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > lineBytes {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
