package contract

import (
	"fmt"
	"net/url"

	"github.com/quarrysearch/quarry/schemas/openapi"
)

// Contract holds the operations of a document, by method and path.
type Contract struct{ operations map[string]*Operation }

// Operation checks requests for one operation. A nil Operation accepts everything.
type Operation struct {
	path, query  []parameter
	body         *schema
	bodyRequired bool
}

// parameter is a value in the path or the query.
type parameter struct {
	name     string
	required bool
	schema   *schema
	// fallback is the value of an absent parameter, in the form in which it would be
	// sent.
	fallback string
}

// Compile compiles the checks of a document.
func Compile(d *openapi.Document) (*Contract, error) {
	c := &compiler{document: d, named: make(map[string]*schema)}
	out := &Contract{operations: make(map[string]*Operation)}
	for _, path := range d.Paths {
		for _, m := range path.Value.Methods() {
			operation, err := c.compileOperation(path.Value, m.Operation)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", m.Name, path.Name, err)
			}
			out.operations[m.Name+" "+path.Name] = operation
		}
	}
	return out, nil
}

// Operation returns the operation of a method and a path as written in the document, or
// nil.
func (c *Contract) Operation(method, path string) *Operation { return c.operations[method+" "+path] }

// Path checks the parameters of the path; value returns them by name.
func (o *Operation) Path(value func(name string) string) error {
	if o == nil {
		return nil
	}
	for i := range o.path {
		p := &o.path[i]
		if f := p.schema.checkText(value(p.name)); f != nil {
			return f.prefixField(p.name)
		}
	}
	return nil
}

// Query checks the parameters of a query.
func (o *Operation) Query(values url.Values) error {
	if o == nil {
		return nil
	}
	for i := range o.query {
		p := &o.query[i]
		given := values[p.name]
		if len(given) == 0 {
			if p.required {
				return &Fault{Field: p.name, Want: p.schema.want}
			}
			continue
		}
		if f := p.schema.checkText(given[0]); f != nil {
			return f.prefixField(p.name)
		}
	}
	return nil
}

// Fallback returns the default of a query parameter, or the empty string.
func (o *Operation) Fallback(name string) string {
	if o == nil {
		return ""
	}
	for i := range o.query {
		if o.query[i].name == name {
			return o.query[i].fallback
		}
	}
	return ""
}
