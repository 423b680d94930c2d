package api

import (
	"net/http"
	"slices"

	"github.com/quarrysearch/quarry/schemas/openapi"
)

// accessWords are the values of x-access in the document.
var accessWords = map[access]openapi.Access{
	accessOpen: openapi.AccessOpen, accessSearch: openapi.AccessSearch, accessGit: openapi.AccessGit, accessRead: openapi.AccessRead,
	accessMember: openapi.AccessMember, accessOwner: openapi.AccessOwner, accessOperator: openapi.AccessOperator,
}

// Routes returns method, path and access of every route.
func (s *Server) Routes() [][3]string {
	var out [][3]string
	for _, r := range s.routeTable() {
		out = append(out, [3]string{r.method, r.path, string(accessWords[r.access])})
	}
	return out
}

// ErrorCodes returns every code of the table of failures.
func ErrorCodes() []string {
	out := []string{"METHOD_NOT_ALLOWED", "RATE_LIMITED", "UNEXPECTED_ERROR", "UNSUPPORTED_MEDIA_TYPE"}
	for _, f := range append(slices.Clip(failures), accountFailures...) {
		out = append(out, f.code)
	}
	return out
}

// The names of access rules.
const (
	AccessOpen     = int(accessOpen)
	AccessSearch   = int(accessSearch)
	AccessGit      = int(accessGit)
	AccessRead     = int(accessRead)
	AccessMember   = int(accessMember)
	AccessOwner    = int(accessOwner)
	AccessOperator = int(accessOperator)
)

// RouteAccess is a route and its access rule.
type RouteAccess struct {
	Method, Path, Action string
	Access               int
	Changes, Stream      bool
}

// Access returns the access rule of every route.
func (s *Server) Access() []RouteAccess {
	var out []RouteAccess
	for _, r := range s.routeTable() {
		out = append(out, RouteAccess{r.method, r.path, string(r.action), int(r.access), r.changesState(), r.stream != nil})
	}
	return out
}

// CheckRoute checks a route as New does.
func CheckRoute(who int) error {
	rt := route{path: "/x", access: access(who), handler: func(*http.Request) (*reply, error) { return okReply(nil), nil }}
	return rt.checkDefinition()
}
