package api

import (
	"net/http"

	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/schemas/openapi"
)

// accessWords are the values of x-access in the document.
var accessWords = map[front.Access]openapi.Access{
	front.AccessOpen: openapi.AccessOpen, front.AccessSearch: openapi.AccessSearch, front.AccessGit: openapi.AccessGit, front.AccessRead: openapi.AccessRead,
	front.AccessMember: openapi.AccessMember, front.AccessOwner: openapi.AccessOwner, front.AccessOperator: openapi.AccessOperator, front.AccessScip: openapi.AccessScip,
}

// Routes returns method, path and access of every route.
func (s *Server) Routes() [][3]string {
	var out [][3]string
	for _, r := range s.routeTable() {
		out = append(out, [3]string{r.Method, r.Path, string(accessWords[r.Access])})
	}
	return out
}

// ErrorCodes returns every code of the table of failures.
func ErrorCodes() []string {
	out := []string{"METHOD_NOT_ALLOWED", "RATE_LIMITED", "UNEXPECTED_ERROR", "UNSUPPORTED_MEDIA_TYPE"}
	for _, f := range failures {
		out = append(out, f.code)
	}
	return out
}

// The names of access rules.
const (
	AccessOpen     = int(front.AccessOpen)
	AccessSearch   = int(front.AccessSearch)
	AccessGit      = int(front.AccessGit)
	AccessRead     = int(front.AccessRead)
	AccessMember   = int(front.AccessMember)
	AccessOwner    = int(front.AccessOwner)
	AccessScip     = int(front.AccessScip)
	AccessOperator = int(front.AccessOperator)
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
		out = append(out, RouteAccess{r.Method, r.Path, string(r.Action), int(r.Access), r.ChangesState(), r.stream != nil})
	}
	return out
}

// CheckRoute checks a route as New does.
func CheckRoute(who int) error {
	rt := route{Route: front.Route{Path: "/x", Access: front.Access(who)}, handler: func(*http.Request) (*reply, error) { return okReply(nil), nil }}
	return rt.checkDefinition()
}

// ShardWays returns the name of the way of each operation in an installation with shards.
func ShardWays() map[string]string {
	names := map[shardWay]string{wayNone: "none", wayLocal: "local", wayNode: "node", wayNodes: "nodes", wayOwner: "owner", wayAll: "all", wayGit: "git"}
	out := map[string]string{}
	for operation, way := range shardWays {
		out[operation] = names[way]
	}
	return out
}

// CheckPart returns the error with which a process of a part refuses an operation.
func (p Part) CheckPart(operation string) error { return p.checkPart(operation) }
