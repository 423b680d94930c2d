package api_test

import (
	"net/http"
	"testing"

	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// unrecorded maps the routes that make no audit record to the reason.
var unrecorded = map[string]string{
	"GET /api/models":                            "always an empty list",
	"GET /api/repos/{repoId}/image":              "a picture shows no code, and pages load it on each visit",
	"POST /api/mcp":                              "agents: sessions and calls are written down one by one",
	"DELETE /api/mcp":                            "agents: the same",
	"POST /api/auth/setup":                       "user.owner_created is an event; what fails is a refusal of the service",
	"POST /api/auth/sign_in":                     "user.signed_in is an event; user.sign_in_failed is of the service",
	"POST /api/auth/sign_out":                    "user.signed_out is an event",
	"DELETE /api/auth/sessions":                  "user.signed_out is an event",
	"DELETE /api/auth/sessions/{sessionId}":      "user.signed_out is an event",
	"GET /api/auth/sessions":                     "of oneself only",
	"GET /api/auth/me":                           "of oneself only",
	"PATCH /api/auth/me":                         "user.renamed and user.password_changed are events",
	"POST /api/keys":                             "api_key.created is an event",
	"DELETE /api/keys/{keyId}":                   "api_key.deleted is an event",
	"GET /api/saved_searches":                    "of oneself, and texts that are for all users",
	"POST /api/saved_searches":                   "saved_search.created is an event",
	"PATCH /api/saved_searches/{savedSearchId}":  "saved_search.changed is an event",
	"DELETE /api/saved_searches/{savedSearchId}": "saved_search.deleted is an event",
	"POST /api/invitations":                      "user.invites_created is an event",
	"DELETE /api/invitations/{invitationId}":     "user.invite_revoked is an event",
	"POST /api/invitations/accept":               "user.invite_accepted is an event",
	"DELETE /api/ee/user":                        "org.member_removed and org.member_left are events",
	"POST /api/users/{userId}/approve":           "user.join_request_approved is an event",
	"POST /api/users/{userId}/suspend":           "org.member_deactivated is an event",
	"POST /api/users/{userId}/reinstate":         "org.member_reactivated is an event",
	"POST /api/users/{userId}/role":              "org.member_promoted_to_owner and org.owner_demoted_to_member are events",
	"POST /api/ee/scoped_access_token":           "scoped_access_token.created is an event",
	"DELETE /api/ee/scoped_access_token/{id}":    "scoped_access_token.revoked is an event",
	"PUT /api/repos/{repoId}/access":             "repo.access_changed is an event",
}

// TestEveryRouteIsWrittenDown checks that each route that reads or changes something has
// an action of schemas/audit, or a reason in unrecorded.
func TestEveryRouteIsWrittenDown(t *testing.T) {
	s := newServer(t, newWorld().serverOptions())
	left := map[string]bool{}
	for route := range unrecorded {
		left[route] = true
	}
	for _, r := range s.Access() {
		name := r.Method + " " + r.Path
		delete(left, name)
		open := r.Access == api.AccessOpen && r.Method == http.MethodGet // contains no information about a person
		_, excused := unrecorded[name]
		switch {
		case r.Action != "" && excused:
			t.Errorf("%s has the action %s; take it out of unrecorded", name, r.Action)
		case r.Action != "" && !audit.Action(r.Action).Known():
			t.Errorf("%s: audit.Actions does not name %s", name, r.Action)
		case r.Action == "" && !open && !excused:
			t.Errorf("%s has no action, and unrecorded no reason", name)
		}
	}
	for route := range left {
		t.Errorf("%s is no route", route)
	}
}
