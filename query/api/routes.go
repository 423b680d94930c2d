package api

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/precise"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// route is one operation. The coverage test compares the table with the OpenAPI document.
type route struct {
	front.Route
	// One of the two: stream is for responses that are written in parts.
	handler handler
	stream  streamHandler
}

func (s *Server) routeTable() []route {
	return []route{
		{Route: front.Route{Method: http.MethodPost, Path: "/api/search", Access: front.AccessSearch, Action: audit.Searched}, handler: s.runSearch},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/stream_search", Access: front.AccessSearch, Action: audit.Searched}, stream: s.streamSearch},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/find_definitions", Access: front.AccessSearch, Action: audit.FoundDefinitions}, handler: s.findDefinitions},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/find_references", Access: front.AccessSearch, Action: audit.FoundReferences}, handler: s.findReferences},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/find_implementations", Access: front.AccessSearch, Action: audit.FoundReferences}, handler: s.findImplementations},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/hover", Access: front.AccessSearch, Action: audit.FoundDefinitions}, handler: s.describeSymbol},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/find_files", Access: front.AccessSearch, Action: audit.Searched}, handler: s.findFiles},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/symbols", Access: front.AccessSearch, Action: audit.Searched}, handler: s.listSymbols},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/repos", Access: front.AccessSearch, Action: audit.ListedRepositories}, handler: s.listRepositories},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/events", Access: front.AccessSearch, Action: audit.ListedRepositories, Follows: true}, stream: s.followEvents},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/connections", Access: front.AccessSearch, Action: audit.ListedConnections}, handler: s.listConnections},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/connections/sync", Access: front.AccessOwner, Action: audit.ChangedOperations}, handler: s.syncConnections},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/repos", Access: front.AccessOwner, Action: audit.RegisteredRepository}, handler: s.registerRepository},
		{Route: front.Route{Method: http.MethodDelete, Path: "/api/repos/{repoId}", Access: front.AccessOwner, Action: audit.RemovedRepository, FreesSpace: true}, handler: s.removeRepository},
		{Route: front.Route{Method: http.MethodPatch, Path: "/api/repos/{repoId}", Access: front.AccessOwner, Action: audit.ChangedRepository}, handler: s.renameRepository},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/repos/{repoId}/erase", Access: front.AccessOwner, Action: audit.ErasedRepository}, handler: s.eraseRepository},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/erasures", Access: front.AccessOwner, Action: audit.ReadOperations}, handler: s.listErasures},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/repos/{repoId}/refresh", Access: front.AccessOwner, Action: audit.ReindexedRepository}, handler: s.refreshRepository},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/repos/{repoId}/reindex", Access: front.AccessOwner, Action: audit.ReindexedRepository}, handler: s.reindexRepository},
		// A picture shows no code: pages load it on each visit, and it is not worth an
		// entry each time.
		{Route: front.Route{Method: http.MethodGet, Path: "/api/repos/{repoId}/image", Access: front.AccessSearch}, handler: s.showImage},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/repos/{repoId}/status", Access: front.AccessSearch, Action: audit.ReadRepository}, handler: s.repositoryStatus},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/repos/{repoId}/skipped", Access: front.AccessSearch, Action: audit.ReadRepository}, handler: s.skippedFiles},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/repos/{repoId}/scip", Access: front.AccessSearch, Action: audit.ReadRepository}, handler: s.listScipUploads},
		{Route: front.Route{
			Method: http.MethodPost, Path: "/api/repos/{repoId}/scip", Access: front.AccessScip, Action: audit.UploadedScip,
			MaxBodyBytes: s.o.MaxScipBytes + 1, BodyTime: precise.MaxUploadTime,
		}, handler: s.uploadScip},
		{Route: front.Route{Method: http.MethodDelete, Path: "/api/repos/{repoId}/scip/{uploadId}", Access: front.AccessScip, Action: audit.DeletedScip, FreesSpace: true}, handler: s.deleteScipUpload},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/deliveries", Access: front.AccessOwner, Action: audit.ReadOperations}, handler: s.listDeliveries},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/deliveries/{deliveryKey}", Access: front.AccessOwner, Action: audit.ReadOperations}, handler: s.showDelivery},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/deliveries/{deliveryKey}/redeliver", Access: front.AccessOwner, Action: audit.ChangedOperations}, handler: s.redeliverDelivery},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/replays", Access: front.AccessOwner, Action: audit.ReadOperations}, handler: s.listReplays},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/replays", Access: front.AccessOwner, Action: audit.ChangedOperations}, handler: s.startReplay},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/replays/rollback", Access: front.AccessOwner, Action: audit.ChangedOperations}, handler: s.rollBack},
		{Route: front.Route{Method: http.MethodDelete, Path: "/api/replays/{replayId}", Access: front.AccessOwner, Action: audit.ChangedOperations}, handler: s.cancelReplay},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/snapshots", Access: front.AccessOwner, Action: audit.ReadOperations}, handler: s.listSnapshots},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/snapshots", Access: front.AccessOwner, Action: audit.ChangedOperations}, handler: s.createSnapshot},
		{Route: front.Route{Method: http.MethodDelete, Path: "/api/snapshots/{snapshotName}", Access: front.AccessOwner, Action: audit.ChangedOperations}, handler: s.deleteSnapshot},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/backups", Access: front.AccessOperator, Action: audit.ChangedOperations}, handler: s.beginBackup},
		{Route: front.Route{Method: http.MethodDelete, Path: "/api/backups/{backupId}", Access: front.AccessOperator, Action: audit.ChangedOperations}, handler: s.endBackup},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/backups/{backupId}/renew", Access: front.AccessOperator, Action: audit.ChangedOperations}, handler: s.renewBackup},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/source", Access: front.AccessGit, Action: audit.FetchedSource}, handler: s.showSource},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/tree", Access: front.AccessGit, Action: audit.FetchedTree}, handler: s.showTree},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/files", Access: front.AccessGit, Action: audit.FetchedTree}, handler: s.listFiles},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/folder_contents", Access: front.AccessGit, Action: audit.FetchedTree}, handler: s.folderContents},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/commits", Access: front.AccessGit, Action: audit.ListedCommits}, handler: s.listCommits},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/commits/authors", Access: front.AccessGit, Action: audit.ListedAuthors}, handler: s.commitAuthors},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/commit", Access: front.AccessGit, Action: audit.FetchedCommit}, handler: s.showCommit},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/diff", Access: front.AccessGit, Action: audit.FetchedDiff}, handler: s.showDiff},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/blame", Access: front.AccessGit, Action: audit.FetchedBlame}, handler: s.showBlame},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/verifications", Access: front.AccessOwner, Action: audit.ChangedOperations}, stream: s.verifyIndex},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/deadletters", Access: front.AccessOwner, Action: audit.ReadOperations}, handler: s.listDeadLetters},
		{Route: front.Route{Method: http.MethodDelete, Path: "/api/deadletters", Access: front.AccessOwner, Action: audit.ChangedOperations}, handler: s.dropDeadLetters},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/deadletters/replay", Access: front.AccessOwner, Action: audit.ChangedOperations}, handler: s.replayDeadLetters},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/deadletters/{partition}/{offset}", Access: front.AccessOwner, Action: audit.ReadOperations}, handler: s.showDeadLetter},
		{Route: front.Route{Method: http.MethodDelete, Path: "/api/deadletters/{partition}/{offset}", Access: front.AccessOwner, Action: audit.ChangedOperations}, handler: s.dropDeadLetter},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/deadletters/{partition}/{offset}/replay", Access: front.AccessOwner, Action: audit.ChangedOperations}, handler: s.replayDeadLetter},
		// Tool calls of agents are recorded one by one; see noteCall.
		{Route: front.Route{Method: http.MethodPost, Path: "/api/mcp", Access: front.AccessRead}, handler: s.postMCP},
		{Route: front.Route{Method: http.MethodDelete, Path: "/api/mcp", Access: front.AccessRead}, handler: s.endMCP},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/auth/setup", Access: front.AccessOpen}, handler: s.withAccounts(s.setUp)},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/auth/sign_in", Access: front.AccessOpen}, handler: s.withAccounts(s.signIn)},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/auth/sign_out", Access: front.AccessMember}, handler: s.withAccounts(s.signOut)},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/auth/sessions", Access: front.AccessMember}, handler: s.withAccounts(s.listSessions)},
		{Route: front.Route{Method: http.MethodDelete, Path: "/api/auth/sessions", Access: front.AccessMember}, handler: s.withAccounts(s.endSessions)},
		{Route: front.Route{Method: http.MethodDelete, Path: "/api/auth/sessions/{sessionId}", Access: front.AccessMember}, handler: s.withAccounts(s.endSession)},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/auth/me", Access: front.AccessMember}, handler: s.withAccounts(s.showMe)},
		{Route: front.Route{Method: http.MethodPatch, Path: "/api/auth/me", Access: front.AccessMember}, handler: s.withAccounts(s.changeMe)},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/keys", Access: front.AccessMember}, handler: s.withAccounts(s.createKey)},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/keys", Access: front.AccessMember, Action: audit.ListedKeys}, handler: s.withAccounts(s.listKeys)},
		{Route: front.Route{Method: http.MethodDelete, Path: "/api/keys/{keyId}", Access: front.AccessMember}, handler: s.withAccounts(s.deleteKey)},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/saved_searches", Access: front.AccessMember}, handler: s.withAccounts(s.listSavedSearches)},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/saved_searches", Access: front.AccessMember}, handler: s.withAccounts(s.createSavedSearch)},
		{Route: front.Route{Method: http.MethodPatch, Path: "/api/saved_searches/{savedSearchId}", Access: front.AccessMember}, handler: s.withAccounts(s.changeSavedSearch)},
		{Route: front.Route{Method: http.MethodDelete, Path: "/api/saved_searches/{savedSearchId}", Access: front.AccessMember}, handler: s.withAccounts(s.deleteSavedSearch)},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/invitations", Access: front.AccessOwner}, handler: s.withAccounts(s.createInvitation)},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/invitations", Access: front.AccessOwner, Action: audit.ListedUsers}, handler: s.withAccounts(s.listInvitations)},
		{Route: front.Route{Method: http.MethodDelete, Path: "/api/invitations/{invitationId}", Access: front.AccessOwner}, handler: s.withAccounts(s.revokeInvitation)},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/invitations/accept", Access: front.AccessOpen}, handler: s.withAccounts(s.acceptInvitation)},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/ee/user", Access: front.AccessOwner, Action: audit.ReadUser}, handler: s.withAccounts(s.showUser)},
		{Route: front.Route{Method: http.MethodDelete, Path: "/api/ee/user", Access: front.AccessOwner}, handler: s.withAccounts(s.removeUser)},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/ee/users", Access: front.AccessOwner, Action: audit.ListedUsers}, handler: s.withAccounts(s.listUsers)},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/users/{userId}/approve", Access: front.AccessOwner}, handler: s.withAccounts(s.approveUser)},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/users/{userId}/suspend", Access: front.AccessOwner}, handler: s.withAccounts(s.suspendUser)},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/users/{userId}/reinstate", Access: front.AccessOwner}, handler: s.withAccounts(s.reinstateUser)},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/users/{userId}/role", Access: front.AccessOwner}, handler: s.withAccounts(s.changeRole)},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/ee/scoped_access_token", Access: front.AccessMember}, handler: s.withAccounts(s.mintToken)},
		{Route: front.Route{Method: http.MethodDelete, Path: "/api/ee/scoped_access_token/{id}", Access: front.AccessMember}, handler: s.withAccounts(s.revokeToken)},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/repos/{repoId}/access", Access: front.AccessOwner, Action: audit.ReadRepository}, handler: s.withAccounts(s.repositoryAccess)},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/repos/{repoId}/access/{userId}", Access: front.AccessOwner, Action: audit.ReadRepository}, handler: s.withAccounts(s.explainRepositoryAccess)},
		{Route: front.Route{Method: http.MethodPut, Path: "/api/repos/{repoId}/access", Access: front.AccessOwner}, handler: s.withAccounts(s.setRepositoryAccess)},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/ee/audit", Access: front.AccessOwner, Action: audit.FetchedAudit}, handler: s.listAudit},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/ee/audit/export", Access: front.AccessOwner, Action: audit.FetchedAudit}, stream: s.exportAudit},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/ee/audit/head", Access: front.AccessOwner, Action: audit.FetchedAudit}, handler: s.auditHead},
		{Route: front.Route{Method: http.MethodPost, Path: "/api/ee/audit/verifications", Access: front.AccessOwner, Action: audit.VerifiedAudit}, stream: s.verifyAudit},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/models", Access: front.AccessRead}, handler: s.listModels},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/version", Access: front.AccessOpen}, handler: s.showVersion},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/health", Access: front.AccessOpen}, handler: s.reportHealth},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/openapi.json", Access: front.AccessOpen}, handler: s.describeJSON},
		{Route: front.Route{Method: http.MethodGet, Path: "/api/docs", Access: front.AccessOpen}, handler: s.describePage},
		{Route: front.Route{Method: http.MethodGet, Path: "/healthz", Access: front.AccessOpen}, handler: s.reportHealth},
		{Route: front.Route{Method: http.MethodGet, Path: "/readyz", Access: front.AccessOpen}, handler: s.reportReadiness},
	}
}

// newRouter routes each path's methods, and responds with 405 to its other methods.
func (s *Server) newRouter() *mux.Router {
	router := mux.NewRouter().SkipClean(true)
	allowed := make(map[string][]string)
	routes := literalFirst(s.routeTable())
	for _, rt := range routes {
		allowed[rt.Path] = append(allowed[rt.Path], routeMethods(rt.Method)...)
	}
	for i, rt := range routes {
		router.Handle(rt.Path, s.handleRoute(&rt)).Methods(routeMethods(rt.Method)...)
		if i+1 == len(routes) || routes[i+1].Path != rt.Path {
			slices.Sort(allowed[rt.Path])
			router.Handle(rt.Path, s.front.Refuse(&methodError{strings.Join(allowed[rt.Path], ", ")}))
		}
	}
	router.NotFoundHandler = s.front.Refuse(errNoRoute)
	return router
}

// literalFirst groups the routes by path, and puts paths without parameters before paths
// with parameters: "rollback" is a separate path, and not the ID of a replay.
func literalFirst(routes []route) []route {
	slices.SortStableFunc(routes, func(a, b route) int {
		return cmp.Or(strings.Count(a.Path, "{")-strings.Count(b.Path, "{"), strings.Compare(a.Path, b.Path))
	})
	return routes
}

// checkDefinition returns an error for a route without a valid access rule.
func (rt *route) checkDefinition() error {
	if err := rt.Validate(); err != nil {
		return fmt.Errorf("api: %w", err)
	}
	if (rt.handler == nil) == (rt.stream == nil) {
		return fmt.Errorf("api: %s %s: want a handler or a stream", rt.Method, rt.Path)
	}
	return nil
}

// handleRoute returns the handler of a route, wrapped by the front.
func (s *Server) handleRoute(rt *route) http.Handler {
	refused := s.o.Part.checkPart(rt.Method + " " + rt.Path)
	rt.Check = func(r *http.Request) (*http.Request, error) {
		if refused != nil {
			return r, refused
		}
		return s.checkParameters(rt, r)
	}
	if rt.stream != nil {
		return s.front.StreamRoute(&rt.Route, rt.stream)
	}
	return s.front.HandleRoute(&rt.Route, func(r *http.Request) (front.Answer, error) { return rt.handler(r) })
}

// routeMethods adds HEAD to GET: net/http omits the body automatically.
func routeMethods(method string) []string {
	if method == http.MethodGet {
		return []string{http.MethodGet, http.MethodHead}
	}
	return []string{method}
}
