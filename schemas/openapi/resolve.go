package openapi

import "strings"

// componentName returns the name of a component of that kind to which ref refers, or "".
func componentName(ref, kind string) string {
	name, _ := strings.CutPrefix(ref, "#/components/"+kind+"/")
	return name
}

// Parameter returns p, or the parameter that it refers to.
func (d *Document) Parameter(p *Parameter) *Parameter {
	if p.Ref == "" {
		return p
	}
	return d.Components.Parameters.Get(componentName(p.Ref, "parameters"))
}

// RequestBody returns b, or the request body that it refers to.
func (d *Document) RequestBody(b *RequestBody) *RequestBody {
	if b == nil || b.Ref == "" {
		return b
	}
	return d.Components.RequestBodies.Get(componentName(b.Ref, "requestBodies"))
}

// Answer returns a, or the response that it refers to.
func (d *Document) Answer(a *Answer) *Answer {
	if a.Ref == "" {
		return a
	}
	return d.Components.Responses.Get(componentName(a.Ref, "responses"))
}

// Header returns h, or the header that it refers to.
func (d *Document) Header(h *Header) *Header {
	if h.Ref == "" {
		return h
	}
	return d.Components.Headers.Get(componentName(h.Ref, "headers"))
}

// Schema returns s, or the schema that it refers to.
func (d *Document) Schema(s *Schema) *Schema {
	if s.Ref == "" {
		return s
	}
	return d.Components.Schemas.Get(s.Name())
}

// Name returns the name of the component that s refers to, or "".
func (s *Schema) Name() string { return componentName(s.Ref, "schemas") }

// Parameters returns the parameters of an operation of a path, resolved.
func (d *Document) Parameters(p *Path, o *Operation) []*Parameter {
	var out []*Parameter
	for _, list := range [][]*Parameter{p.Parameters, o.Parameters} {
		for _, parameter := range list {
			out = append(out, d.Parameter(parameter))
		}
	}
	return out
}
