package openapi

import (
	"fmt"
	"slices"
	"strings"
)

// method is an operation of a path.
type method struct {
	Name      string
	Operation *Operation
}

// Methods returns the operations of p with their HTTP methods.
func (p *Path) Methods() []method {
	all := []method{{"GET", p.Get}, {"PUT", p.Put}, {"POST", p.Post}, {"DELETE", p.Delete}, {"PATCH", p.Patch}}
	return slices.DeleteFunc(all, func(m method) bool { return m.Operation == nil })
}

// completeOperations fills in the parts of every operation that follow from its access
// and kind, so that quarry.yaml need not repeat them: the credentials, the errors that
// any such operation can return, and the headers of every response. It keeps definitions
// from the file.
func (d *Document) completeOperations() error {
	for _, path := range d.Paths {
		for _, m := range path.Value.Methods() {
			if err := d.completeOperation(path.Name, path.Value, m.Operation); err != nil {
				return fmt.Errorf("%s %s: %w", m.Name, path.Name, err)
			}
		}
	}
	for _, answer := range d.Components.Responses {
		answer.Value.addHeaders()
	}
	return nil
}

func (d *Document) completeOperation(path string, p *Path, o *Operation) error {
	var err error
	if o.Security, err = d.securityOf(o.Access); err != nil {
		return err
	}
	for _, status := range o.usualFailures(path, len(p.Parameters) > 0) {
		if !o.Responses.Has(status[0]) {
			o.Responses = append(o.Responses, Member[*Answer]{status[0], &Answer{Ref: "#/components/responses/" + status[1]}})
		}
	}
	slices.SortStableFunc(o.Responses, func(a, b Member[*Answer]) int { return strings.Compare(a.Name, b.Name) })
	for _, answer := range o.Responses {
		if answer.Value.Ref == "" {
			answer.Value.addHeaders()
		}
	}
	return nil
}

// securityOf returns the ways to authenticate: those of the document, and anonymous
// access where it is allowed.
func (d *Document) securityOf(a Access) ([]Requirement, error) {
	switch a {
	case AccessOpen:
		return []Requirement{{}}, nil
	case AccessSearch, AccessGit, AccessRead:
		return append(slices.Clip(d.Security), Requirement{}), nil
	case AccessMember, AccessOwner, AccessScip, AccessOperator:
		return d.Security, nil
	}
	return nil, fmt.Errorf("x-access %q: want open, search, git, read, member, owner, scip or operator", a)
}

// usualFailures returns the status and component of each failure that any operation like
// o may return.
func (o *Operation) usualFailures(path string, parameters bool) [][2]string {
	out := [][2]string{{"500", "Unexpected"}}
	if o.Access != AccessOpen {
		out = append(out, [2]string{"401", "Unauthenticated"}, [2]string{"403", "Forbidden"}, [2]string{"503", "Unavailable"})
	}
	if strings.HasPrefix(path, "/api/") {
		out = append(out, [2]string{"429", "RateLimited"})
	}
	if o.RequestBody != nil {
		out = append(out, [2]string{"400", "InvalidBody"}, [2]string{"408", "Slow"}, [2]string{"413", "TooLarge"}, [2]string{"415", "UnsupportedMediaType"})
	} else if parameters || len(o.Parameters) > 0 {
		out = append(out, [2]string{"400", "InvalidParameters"})
	}
	return out
}

// commonHeaders are the headers of every response.
var commonHeaders = []string{"X-Request-Id", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"}

func (a *Answer) addHeaders() {
	for _, name := range commonHeaders {
		if !a.Headers.Has(name) {
			a.Headers = append(a.Headers, Member[*Header]{name, &Header{Ref: "#/components/headers/" + name}})
		}
	}
}
