package api

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/schemas/audit"
)

// route is one operation. The coverage test compares the table with the
// OpenAPI document.
type route struct {
	method, path string
	// access is the access rule, action the name of the request in the audit log;
	// empty: not audited.
	access access
	action audit.Action
	// frees says that the request frees space, and so is accepted when others are
	// not.
	frees bool
	// One of the two: stream where the answer is written as it comes.
	handler handler
	stream  streamHandler
}

// access is the permission that a route requires. The zero value admits no caller.
type access int

const (
	accessNobody   access = iota
	accessOpen            // nothing
	accessSearch          // the scope search; anonymous requests where they are allowed
	accessGit             // the scope git; anonymous requests where they are allowed
	accessRead            // one of those two, depending on the request
	accessMember          // a user, by session or key
	accessOwner           // an owner with the scope admin, or the operator
	accessOperator        // the operator
)

func (s *Server) routeTable() []route {
	return []route{
		{method: http.MethodPost, path: "/api/search", access: accessSearch, action: audit.Searched, handler: s.runSearch},
		{method: http.MethodPost, path: "/api/stream_search", access: accessSearch, action: audit.Searched, stream: s.streamSearch},
		{method: http.MethodPost, path: "/api/find_definitions", access: accessSearch, action: audit.FoundDefinitions, handler: s.findDefinitions},
		{method: http.MethodPost, path: "/api/find_references", access: accessSearch, action: audit.FoundReferences, handler: s.findReferences},
		{method: http.MethodGet, path: "/api/find_files", access: accessSearch, action: audit.Searched, handler: s.findFiles},
		{method: http.MethodGet, path: "/api/repos", access: accessSearch, action: audit.ListedRepositories, handler: s.listRepositories},
		{method: http.MethodGet, path: "/api/connections", access: accessSearch, action: audit.ListedConnections, handler: s.listConnections},
		{method: http.MethodPost, path: "/api/repos", access: accessOwner, action: audit.RegisteredRepository, handler: s.registerRepository},
		{method: http.MethodDelete, path: "/api/repos/{repoId}", access: accessOwner, action: audit.RemovedRepository, frees: true, handler: s.removeRepository},
		{method: http.MethodPost, path: "/api/repos/{repoId}/erase", access: accessOwner, action: audit.ErasedRepository, handler: s.eraseRepository},
		{method: http.MethodGet, path: "/api/erasures", access: accessOwner, action: audit.ReadOperations, handler: s.listErasures},
		{method: http.MethodPost, path: "/api/repos/{repoId}/refresh", access: accessOwner, action: audit.ReindexedRepository, handler: s.refreshRepository},
		{method: http.MethodPost, path: "/api/repos/{repoId}/reindex", access: accessOwner, action: audit.ReindexedRepository, handler: s.reindexRepository},
		{method: http.MethodGet, path: "/api/repos/{repoId}/status", access: accessSearch, action: audit.ReadRepository, handler: s.repositoryStatus},
		{method: http.MethodGet, path: "/api/repos/{repoId}/skipped", access: accessSearch, action: audit.ReadRepository, handler: s.skippedFiles},
		{method: http.MethodGet, path: "/api/deliveries", access: accessOwner, action: audit.ReadOperations, handler: s.listDeliveries},
		{method: http.MethodGet, path: "/api/deliveries/{deliveryKey}", access: accessOwner, action: audit.ReadOperations, handler: s.showDelivery},
		{method: http.MethodPost, path: "/api/deliveries/{deliveryKey}/redeliver", access: accessOwner, action: audit.ChangedOperations, handler: s.redeliverDelivery},
		{method: http.MethodGet, path: "/api/replays", access: accessOwner, action: audit.ReadOperations, handler: s.listReplays},
		{method: http.MethodPost, path: "/api/replays", access: accessOwner, action: audit.ChangedOperations, handler: s.startReplay},
		{method: http.MethodPost, path: "/api/replays/rollback", access: accessOwner, action: audit.ChangedOperations, handler: s.rollBack},
		{method: http.MethodDelete, path: "/api/replays/{replayId}", access: accessOwner, action: audit.ChangedOperations, handler: s.cancelReplay},
		{method: http.MethodPost, path: "/api/backups", access: accessOperator, action: audit.ChangedOperations, handler: s.beginBackup},
		{method: http.MethodDelete, path: "/api/backups/{backupId}", access: accessOperator, action: audit.ChangedOperations, handler: s.endBackup},
		{method: http.MethodPost, path: "/api/backups/{backupId}/renew", access: accessOperator, action: audit.ChangedOperations, handler: s.renewBackup},
		{method: http.MethodGet, path: "/api/source", access: accessGit, action: audit.FetchedSource, handler: s.showSource},
		{method: http.MethodPost, path: "/api/tree", access: accessGit, action: audit.FetchedTree, handler: s.showTree},
		{method: http.MethodPost, path: "/api/files", access: accessGit, action: audit.FetchedTree, handler: s.listFiles},
		{method: http.MethodGet, path: "/api/folder_contents", access: accessGit, action: audit.FetchedTree, handler: s.folderContents},
		{method: http.MethodGet, path: "/api/commits", access: accessGit, action: audit.ListedCommits, handler: s.listCommits},
		{method: http.MethodGet, path: "/api/commits/authors", access: accessGit, action: audit.ListedAuthors, handler: s.commitAuthors},
		{method: http.MethodGet, path: "/api/commit", access: accessGit, action: audit.FetchedCommit, handler: s.showCommit},
		{method: http.MethodGet, path: "/api/diff", access: accessGit, action: audit.FetchedDiff, handler: s.showDiff},
		{method: http.MethodGet, path: "/api/blame", access: accessGit, action: audit.FetchedBlame, handler: s.showBlame},
		{method: http.MethodPost, path: "/api/verifications", access: accessOwner, action: audit.ChangedOperations, stream: s.verifyIndex},
		{method: http.MethodGet, path: "/api/deadletters", access: accessOwner, action: audit.ReadOperations, handler: s.listDeadLetters},
		{method: http.MethodDelete, path: "/api/deadletters", access: accessOwner, action: audit.ChangedOperations, handler: s.dropDeadLetters},
		{method: http.MethodPost, path: "/api/deadletters/replay", access: accessOwner, action: audit.ChangedOperations, handler: s.replayDeadLetters},
		{method: http.MethodGet, path: "/api/deadletters/{partition}/{offset}", access: accessOwner, action: audit.ReadOperations, handler: s.showDeadLetter},
		{method: http.MethodDelete, path: "/api/deadletters/{partition}/{offset}", access: accessOwner, action: audit.ChangedOperations, handler: s.dropDeadLetter},
		{method: http.MethodPost, path: "/api/deadletters/{partition}/{offset}/replay", access: accessOwner, action: audit.ChangedOperations, handler: s.replayDeadLetter},
		// What agents do is recorded call by call; see noteCall.
		{method: http.MethodPost, path: "/api/mcp", access: accessRead, handler: s.postMCP},
		{method: http.MethodDelete, path: "/api/mcp", access: accessRead, handler: s.endMCP},
		{method: http.MethodPost, path: "/api/auth/setup", access: accessOpen, handler: s.withAccounts(s.setUp)},
		{method: http.MethodPost, path: "/api/auth/sign_in", access: accessOpen, handler: s.withAccounts(s.signIn)},
		{method: http.MethodPost, path: "/api/auth/sign_out", access: accessMember, handler: s.withAccounts(s.signOut)},
		{method: http.MethodGet, path: "/api/auth/sessions", access: accessMember, handler: s.withAccounts(s.listSessions)},
		{method: http.MethodDelete, path: "/api/auth/sessions", access: accessMember, handler: s.withAccounts(s.endSessions)},
		{method: http.MethodDelete, path: "/api/auth/sessions/{sessionId}", access: accessMember, handler: s.withAccounts(s.endSession)},
		{method: http.MethodGet, path: "/api/auth/me", access: accessMember, handler: s.withAccounts(s.showMe)},
		{method: http.MethodPatch, path: "/api/auth/me", access: accessMember, handler: s.withAccounts(s.changeMe)},
		{method: http.MethodPost, path: "/api/keys", access: accessMember, handler: s.withAccounts(s.createKey)},
		{method: http.MethodGet, path: "/api/keys", access: accessMember, action: audit.ListedKeys, handler: s.withAccounts(s.listKeys)},
		{method: http.MethodDelete, path: "/api/keys/{keyId}", access: accessMember, handler: s.withAccounts(s.deleteKey)},
		{method: http.MethodPost, path: "/api/invitations", access: accessOwner, handler: s.withAccounts(s.createInvitation)},
		{method: http.MethodGet, path: "/api/invitations", access: accessOwner, action: audit.ListedUsers, handler: s.withAccounts(s.listInvitations)},
		{method: http.MethodDelete, path: "/api/invitations/{invitationId}", access: accessOwner, handler: s.withAccounts(s.revokeInvitation)},
		{method: http.MethodPost, path: "/api/invitations/accept", access: accessOpen, handler: s.withAccounts(s.acceptInvitation)},
		{method: http.MethodGet, path: "/api/ee/user", access: accessOwner, action: audit.ReadUser, handler: s.withAccounts(s.showUser)},
		{method: http.MethodDelete, path: "/api/ee/user", access: accessOwner, handler: s.withAccounts(s.removeUser)},
		{method: http.MethodGet, path: "/api/ee/users", access: accessOwner, action: audit.ListedUsers, handler: s.withAccounts(s.listUsers)},
		{method: http.MethodPost, path: "/api/users/{userId}/approve", access: accessOwner, handler: s.withAccounts(s.approveUser)},
		{method: http.MethodPost, path: "/api/users/{userId}/suspend", access: accessOwner, handler: s.withAccounts(s.suspendUser)},
		{method: http.MethodPost, path: "/api/users/{userId}/reinstate", access: accessOwner, handler: s.withAccounts(s.reinstateUser)},
		{method: http.MethodPost, path: "/api/users/{userId}/role", access: accessOwner, handler: s.withAccounts(s.changeRole)},
		{method: http.MethodPost, path: "/api/ee/scoped_access_token", access: accessMember, handler: s.withAccounts(s.mintToken)},
		{method: http.MethodDelete, path: "/api/ee/scoped_access_token/{id}", access: accessMember, handler: s.withAccounts(s.revokeToken)},
		{method: http.MethodGet, path: "/api/repos/{repoId}/access", access: accessOwner, action: audit.ReadRepository, handler: s.withAccounts(s.repositoryAccess)},
		{method: http.MethodPut, path: "/api/repos/{repoId}/access", access: accessOwner, handler: s.withAccounts(s.setRepositoryAccess)},
		{method: http.MethodGet, path: "/api/ee/audit", access: accessOwner, action: audit.FetchedAudit, handler: s.listAudit},
		{method: http.MethodGet, path: "/api/ee/audit/export", access: accessOwner, action: audit.FetchedAudit, stream: s.exportAudit},
		{method: http.MethodGet, path: "/api/ee/audit/head", access: accessOwner, action: audit.FetchedAudit, handler: s.auditHead},
		{method: http.MethodPost, path: "/api/ee/audit/verifications", access: accessOwner, action: audit.VerifiedAudit, stream: s.verifyAudit},
		{method: http.MethodGet, path: "/api/models", access: accessRead, handler: s.listModels},
		{method: http.MethodGet, path: "/api/version", access: accessOpen, handler: s.showVersion},
		{method: http.MethodGet, path: "/api/health", access: accessOpen, handler: s.reportHealth},
		{method: http.MethodGet, path: "/api/openapi.json", access: accessOpen, handler: s.describeJSON},
		{method: http.MethodGet, path: "/api/docs", access: accessOpen, handler: s.describePage},
		{method: http.MethodGet, path: "/healthz", access: accessOpen, handler: s.reportHealth},
		{method: http.MethodGet, path: "/readyz", access: accessOpen, handler: s.reportReadiness},
	}
}

// newRouter takes a path's own methods, and answers 405 to its others.
func (s *Server) newRouter() *mux.Router {
	router := mux.NewRouter().SkipClean(true)
	allowed := make(map[string][]string)
	routes := literalFirst(s.routeTable())
	for _, rt := range routes {
		allowed[rt.path] = append(allowed[rt.path], routeMethods(rt.method)...)
	}
	for i, rt := range routes {
		router.Handle(rt.path, s.handleRoute(&rt)).Methods(routeMethods(rt.method)...)
		if i+1 == len(routes) || routes[i+1].path != rt.path {
			slices.Sort(allowed[rt.path])
			router.Handle(rt.path, s.errorHandler(&methodError{strings.Join(allowed[rt.path], ", ")}))
		}
	}
	router.NotFoundHandler = s.errorHandler(errNoRoute)
	return router
}

// literalFirst groups the routes by path, and puts paths without parameters before
// those with some: "rollback" is a separate path, and not an ID of a replay.
func literalFirst(routes []route) []route {
	slices.SortStableFunc(routes, func(a, b route) int {
		return cmp.Or(strings.Count(a.path, "{")-strings.Count(b.path, "{"), strings.Compare(a.path, b.path))
	})
	return routes
}

// checkDefinition returns an error for a route without an access rule, or with an invalid
// one.
func (rt *route) checkDefinition() error {
	switch {
	case rt.access <= accessNobody || rt.access > accessOperator:
		return fmt.Errorf("api: %s %s: it has no access rule", rt.method, rt.path)
	case (rt.handler == nil) == (rt.stream == nil):
		return fmt.Errorf("api: %s %s: want a handler or a stream", rt.method, rt.path)
	}
	return nil
}

// unknownRoute is the label of requests that no route takes.
const unknownRoute = "unknown"

// routeMethods adds HEAD to GET: net/http leaves out the body by itself.
func routeMethods(method string) []string {
	if method == http.MethodGet {
		return []string{http.MethodGet, http.MethodHead}
	}
	return []string{method}
}
