package openapi_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// peerComparison collects requests and responses with which a client of the peer fails
// against Quarry.
type peerComparison struct {
	theirs, ours *openapi3.T
	operations   []string // compared operations
	differences  []string
	// compared holds the compared schemas. It ends the recursion, because schemas may
	// refer to themselves.
	compared map[string]bool
}

func (c *peerComparison) add(where, format string, args ...any) {
	if text := where + ": " + fmt.Sprintf(format, args...); !slices.Contains(c.differences, text) {
		c.differences = append(c.differences, text)
	}
}

// compareOperations compares each of the peer's operations with ours.
func (c *peerComparison) compareOperations() {
	c.compared = make(map[string]bool)
	for name, theirPath := range c.theirs.Paths.Map() {
		ourPath := c.ours.Paths.Value(name)
		for method, theirs := range theirPath.Operations() {
			c.operations = append(c.operations, theirs.OperationID)
			if ourPath == nil || ourPath.GetOperation(method) == nil {
				c.add(theirs.OperationID, "%s %s is missing", method, name)
				continue
			}
			ours := ourPath.GetOperation(method)
			if ours.OperationID != theirs.OperationID { // clients derive method names from it
				c.add(theirs.OperationID, "operationId is %s", ours.OperationID)
			}
			if ours.Tags[0] != theirs.Tags[0] { // Python clients derive modules from it
				c.add(theirs.OperationID, "tag is %s, not %s", ours.Tags[0], theirs.Tags[0])
			}
			c.compareSecurity(theirs, ours)
			c.compareParameters(theirs.OperationID, append(slices.Clone(theirPath.Parameters), theirs.Parameters...), append(slices.Clone(ourPath.Parameters), ours.Parameters...))
			c.compareBodies(theirs, ours)
			c.compareResponses(theirs, ours)
		}
	}
}

func (c *peerComparison) compareSecurity(theirs, ours *openapi3.Operation) {
	accepted := acceptedCredentials(c.ours, ours)
	if len(accepted) == 1 && accepted[0] == anonymous {
		return // credentials are not checked
	}
	for _, credential := range acceptedCredentials(c.theirs, theirs) {
		if !slices.Contains(accepted, credential) {
			c.add(theirs.OperationID, "%s is not accepted", credential)
		}
	}
}

const anonymous = "anonymous"

// acceptedCredentials returns the credentials that o accepts, each as a separate element.
func acceptedCredentials(d *openapi3.T, o *openapi3.Operation) []string {
	requirements := d.Security
	if o.Security != nil {
		requirements = *o.Security
	}
	var out []string
	for _, r := range requirements {
		text := anonymous
		for name := range r {
			s := d.Components.SecuritySchemes[name].Value
			text = strings.Join(strings.Fields("credential "+s.Type+" "+s.In+" "+s.Name+s.Scheme), " ")
		}
		out = append(out, text)
	}
	return out
}

func (c *peerComparison) compareParameters(operation string, theirs, ours openapi3.Parameters) {
	for _, p := range theirs {
		where := operation + ": " + p.Value.In + " " + p.Value.Name
		q := ours.GetByInAndName(p.Value.In, p.Value.Name)
		if q == nil {
			c.add(where, "is missing")
			continue
		}
		c.compareRequest(where, p.Value.Schema, q.Schema)
	}
	for _, q := range ours {
		if p := theirs.GetByInAndName(q.Value.In, q.Value.Name); q.Value.Required && (p == nil || !p.Required) {
			c.add(operation+": "+q.Value.In+" "+q.Value.Name, "is required")
		}
	}
}

func (c *peerComparison) compareBodies(theirs, ours *openapi3.Operation) {
	switch {
	case theirs.RequestBody == nil && ours.RequestBody == nil:
	case theirs.RequestBody == nil:
		if ours.RequestBody.Value.Required {
			c.add(theirs.OperationID, "a request body is required")
		}
	case ours.RequestBody == nil:
		c.add(theirs.OperationID, "no request body is taken")
	default:
		for mediaType, media := range theirs.RequestBody.Value.Content {
			if m := ours.RequestBody.Value.Content[mediaType]; m == nil {
				c.add(theirs.OperationID, "no request body of type %s is taken", mediaType)
			} else {
				c.compareRequest(theirs.OperationID+": request", media.Schema, m.Schema)
			}
		}
	}
}

func (c *peerComparison) compareResponses(theirs, ours *openapi3.Operation) {
	for status, response := range theirs.Responses.Map() {
		r := ours.Responses.Value(status)
		if r == nil {
			c.add(theirs.OperationID, "status %s is missing", status)
			continue
		}
		where := theirs.OperationID + ": " + status
		if status >= "400" {
			where = "failures"
		}
		for name, header := range response.Value.Headers {
			if h := r.Value.Headers[name]; h == nil {
				c.add(where, "header %s is missing", name)
			} else {
				c.compareAnswer(where+" "+name, header.Value.Schema, h.Value.Schema)
			}
		}
		for mediaType, media := range response.Value.Content {
			if m := r.Value.Content[mediaType]; m == nil {
				c.add(where, "is not given as %s", mediaType)
			} else {
				c.compareAnswer(where, media.Schema, m.Schema)
			}
		}
	}
}

// compareRequest finds requests that the peer accepts and Quarry rejects.
func (c *peerComparison) compareRequest(where string, theirRef, ourRef *openapi3.SchemaRef) {
	theirs, ours := flattenAllOf(theirRef.Value), flattenAllOf(ourRef.Value)
	if !containsType(ours, theirs) {
		c.add(where, "type is %s, not %s", ours.Type.Slice()[0], theirs.Type.Slice()[0])
	}
	if missing := valuesOutside(theirs.Enum, ours.Enum); len(ours.Enum) > 0 && missing != "" {
		c.add(where, "enum lacks %s", missing)
	}
	for _, b := range boundPairs(theirs, ours) {
		if b.ours.isTighter(b.theirs) {
			c.add(where, "%s is %s", b.name, b.ours)
		}
	}
	if ours.Pattern != "" && ours.Pattern != theirs.Pattern {
		c.add(where, "pattern is %s", ours.Pattern)
	}
	if ours.Format != theirs.Format && ours.Type.Is("string") && ours.Format != "" {
		c.add(where, "format is %s", ours.Format)
	}
	if theirs.Nullable && !ours.Nullable {
		c.add(where, "null is refused")
	}
	for _, name := range slices.Sorted(maps.Keys(theirs.Properties)) {
		if ours.Properties[name] == nil {
			c.add(where+" "+name, "is missing")
		} else {
			c.compareRequest(where+" "+name, theirs.Properties[name], ours.Properties[name])
		}
	}
	for _, name := range ours.Required {
		if !slices.Contains(theirs.Required, name) {
			c.add(where+" "+name, "is required")
		}
	}
	if isClosed(ours) && !isClosed(theirs) {
		c.add(where, "further members are refused")
	}
	if theirs.Items != nil && ours.Items != nil {
		c.compareRequest(where+"[]", theirs.Items, ours.Items)
	}
}

// compareAnswer finds responses that Quarry sends and the peer's document does not allow.
func (c *peerComparison) compareAnswer(where string, theirRef, ourRef *openapi3.SchemaRef) {
	if theirRef.Ref != "" && ourRef.Ref != "" {
		pair := theirRef.Ref + " " + ourRef.Ref
		if c.compared[pair] {
			return
		}
		c.compared[pair] = true
	}
	theirs, ours := flattenAllOf(theirRef.Value), flattenAllOf(ourRef.Value)
	if !containsType(theirs, ours) {
		c.add(where, "type is %s, not %s", ours.Type.Slice()[0], theirs.Type.Slice()[0])
	}
	if extra := valuesOutside(ours.Enum, theirs.Enum); len(theirs.Enum) > 0 && extra != "" {
		c.add(where, "enum has %s", extra)
	}
	for _, b := range boundPairs(theirs, ours) {
		if b.theirs.isTighter(b.ours) {
			c.add(where, "%s is %s, not %s", b.name, b.ours, b.theirs)
		}
	}
	if theirs.Pattern != "" && ours.Pattern != theirs.Pattern {
		c.add(where, "pattern is %s, not %s", ours.Pattern, theirs.Pattern)
	}
	if theirs.Format != "" && ours.Format != theirs.Format {
		c.add(where, "format is %s, not %s", ours.Format, theirs.Format)
	}
	if ours.Nullable && !theirs.Nullable {
		c.add(where, "may be null")
	}
	for _, name := range slices.Sorted(maps.Keys(theirs.Properties)) {
		if ours.Properties[name] == nil {
			c.add(where+" "+name, "is missing")
			continue
		}
		if slices.Contains(theirs.Required, name) && !slices.Contains(ours.Required, name) {
			c.add(where+" "+name, "may be absent")
		}
		c.compareAnswer(where+" "+name, theirs.Properties[name], ours.Properties[name])
	}
	for _, name := range slices.Sorted(maps.Keys(ours.Properties)) {
		if isClosed(theirs) && theirs.Properties[name] == nil {
			c.add(where+" "+name, "is no member there, and others are not allowed")
		}
	}
	if isClosed(theirs) && !isClosed(ours) {
		c.add(where, "further members are possible")
	}
	if theirs.Items != nil && ours.Items != nil {
		c.compareAnswer(where+"[]", theirs.Items, ours.Items)
	}
	if theirs.AdditionalProperties.Schema != nil && ours.AdditionalProperties.Schema != nil {
		c.compareAnswer(where+"{}", theirs.AdditionalProperties.Schema, ours.AdditionalProperties.Schema)
	}
}
