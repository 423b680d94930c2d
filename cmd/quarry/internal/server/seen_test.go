package server

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/openapi"
)

// A seenRow describes how to call an operation about a repository.
type seenRow struct {
	// path and body build the request. body may be nil.
	path func(s *secret) string
	body func(s *secret) string
	// status is the expected status for a permitted caller. 0 allows any status that is
	// not a refusal.
	status int
	// about is set if the response exists only if the caller may see the repository.
	about bool
	// changes is set if a permitted caller must not run the operation here. They request
	// an object that does not exist instead.
	changes bool
	// account is set if the response is about users. Any status is accepted for callers
	// who have the required access.
	account bool
}

func fixedPath(path string) func(*secret) string { return func(*secret) string { return path } }

// fillTemplate returns a function that replaces {name}, {id}, {number}, {path}, {branch},
// {head}, {old} and {mark} in a path or body.
func fillTemplate(text string) func(*secret) string {
	return func(s *secret) string {
		return strings.NewReplacer("{name}", s.name, "{id}", s.id.String(), "{number}", fmt.Sprint(s.number), "{path}", s.filePath(), "{branch}", s.branchName(),
			"{head}", string(s.head), "{old}", string(s.old), "{mark}", s.mark).Replace(text)
	}
}

// seenRows contains every operation of the API. A new operation needs a row, so that its
// author asks what it may reveal of a repository that the caller may not see.
var seenRows = map[string]seenRow{
	"POST /api/search":                                  {path: fixedPath("/api/search"), body: fillTemplate(`{"query":"{mark}word or common rev:*","matches":100,"explain":true,"whole":true,"facets":true}`), status: 200},
	"POST /api/stream_search":                           {path: fixedPath("/api/stream_search"), body: fillTemplate(`{"query":"{mark}word or sharedtext","matches":100,"facets":true}`), status: 200},
	"GET /api/events":                                   {path: fixedPath("/api/events"), status: 200}, // see also TestEventsAsEveryRole
	"GET /api/find_files":                               {path: fillTemplate("/api/find_files?query=main&repo={name}"), status: 200},
	"GET /api/symbols":                                  {path: fillTemplate("/api/symbols?repo={name}"), about: true, status: 200},
	"POST /api/find_definitions":                        {path: fixedPath("/api/find_definitions"), body: fillTemplate(`{"symbolName":"{mark}Symbol","repoName":"{name}"}`), status: 200},
	"POST /api/find_references":                         {path: fixedPath("/api/find_references"), body: fillTemplate(`{"symbolName":"common","revisionName":"{branch}"}`), status: 200},
	"POST /api/find_implementations":                    {path: fixedPath("/api/find_implementations"), body: fillTemplate(`{"symbolName":"{mark}Symbol","repoName":"{name}"}`), status: 200},
	"POST /api/hover":                                   {path: fixedPath("/api/hover"), body: fillTemplate(`{"symbolName":"{mark}Symbol","repoName":"{name}"}`), status: 200},
	"GET /api/repos/{repoId}/scip":                      {path: fillTemplate("/api/repos/{id}/scip"), about: true, status: 200},
	"POST /api/repos/{repoId}/scip":                     {path: fillTemplate("/api/repos/{id}/scip?commit={head}"), body: fixedPath("no index"), about: true, status: 400},
	"DELETE /api/repos/{repoId}/scip/{uploadId}":        {path: fillTemplate("/api/repos/{id}/scip/00000000000000000000000000000000"), about: true, status: 404},
	"GET /api/repos":                                    {path: fillTemplate("/api/repos?query={mark}"), status: 200},
	"GET /api/connections":                              {path: fixedPath("/api/connections"), status: 200},
	"POST /api/repos":                                   {path: fixedPath("/api/repos"), body: fixedPath(`{}`), status: 400},
	"PATCH /api/repos/{repoId}":                         {path: fillTemplate("/api/repos/{id}"), body: fixedPath(`{"name":"other.example/renamed"}`), about: true, changes: true},
	"DELETE /api/repos/{repoId}":                        {path: fillTemplate("/api/repos/{id}"), about: true, changes: true},
	"POST /api/repos/{repoId}/erase":                    {path: fillTemplate("/api/repos/{id}/erase"), body: fixedPath(`{"commit":"1111111111111111111111111111111111111111"}`), about: true, status: 202},
	"GET /api/erasures":                                 {path: fixedPath("/api/erasures"), status: 200},
	"POST /api/repos/{repoId}/refresh":                  {path: fillTemplate("/api/repos/{id}/refresh"), about: true, status: 202},
	"POST /api/repos/{repoId}/reindex":                  {path: fillTemplate("/api/repos/{id}/reindex"), about: true, status: 202},
	"GET /api/repos/{repoId}/image":                     {path: fillTemplate("/api/repos/{id}/image"), about: true, status: 200},
	"GET /api/repos/{repoId}/status":                    {path: fillTemplate("/api/repos/{id}/status"), about: true, status: 200},
	"GET /api/repos/{repoId}/skipped":                   {path: fillTemplate("/api/repos/{id}/skipped"), about: true, status: 200},
	"GET /api/deliveries":                               {path: fixedPath("/api/deliveries"), status: 200},
	"GET /api/deliveries/{deliveryKey}":                 {path: fixedPath("/api/deliveries/0-99999"), status: 404},
	"POST /api/deliveries/{deliveryKey}/redeliver":      {path: fixedPath("/api/deliveries/0-99999/redeliver"), status: 404},
	"POST /api/connections/sync":                        {path: fixedPath("/api/connections/sync"), body: fixedPath(`{"name":"nosuch"}`), status: 404},
	"GET /api/replays":                                  {path: fixedPath("/api/replays"), status: 200},
	"POST /api/replays":                                 {path: fixedPath("/api/replays"), body: fixedPath(`{"projection":"nosuch"}`), status: 400},
	"POST /api/replays/rollback":                        {path: fixedPath("/api/replays/rollback"), status: 409},
	"DELETE /api/replays/{replayId}":                    {path: fixedPath("/api/replays/99"), status: 404},
	"GET /api/snapshots":                                {path: fixedPath("/api/snapshots"), status: 200},
	"POST /api/snapshots":                               {path: fixedPath("/api/snapshots")},
	"DELETE /api/snapshots/{snapshotName}":              {path: fixedPath("/api/snapshots/v1-20260304t030607z-00000000"), status: 404},
	"POST /api/backups":                                 {path: fixedPath("/api/backups")},
	"DELETE /api/backups/{backupId}":                    {path: fixedPath("/api/backups/x"), status: 404},
	"POST /api/backups/{backupId}/renew":                {path: fixedPath("/api/backups/x/renew"), status: 404},
	"GET /api/source":                                   {path: fillTemplate("/api/source?repo={name}&path={path}&ref={branch}"), about: true, status: 200},
	"POST /api/tree":                                    {path: fixedPath("/api/tree"), body: fillTemplate(`{"repoName":"{name}","revisionName":"{head}","paths":[]}`), about: true, status: 200},
	"POST /api/files":                                   {path: fixedPath("/api/files"), body: fillTemplate(`{"repoName":"{name}","revisionName":"HEAD"}`), about: true, status: 200},
	"GET /api/folder_contents":                          {path: fillTemplate("/api/folder_contents?repoName={name}&revisionName=HEAD&path="), about: true, status: 200},
	"GET /api/commits":                                  {path: fillTemplate("/api/commits?repo={name}"), about: true, status: 200},
	"GET /api/commits/authors":                          {path: fillTemplate("/api/commits/authors?repo={name}"), about: true, status: 200},
	"GET /api/commit":                                   {path: fillTemplate("/api/commit?repo={name}&ref={head}"), about: true, status: 200},
	"GET /api/diff":                                     {path: fillTemplate("/api/diff?repo={name}&base={old}&head={head}"), about: true, status: 200},
	"GET /api/blame":                                    {path: fillTemplate("/api/blame?repo={name}&path={path}"), about: true, status: 200},
	"POST /api/verifications":                           {path: fixedPath("/api/verifications"), body: fixedPath(`{"repositories":[]}`)},
	"GET /api/deadletters":                              {path: fixedPath("/api/deadletters"), status: 200},
	"DELETE /api/deadletters":                           {path: fixedPath("/api/deadletters"), status: 400},
	"POST /api/deadletters/replay":                      {path: fixedPath("/api/deadletters/replay"), status: 400},
	"GET /api/deadletters/{partition}/{offset}":         {path: fixedPath("/api/deadletters/0/99999"), status: 404},
	"DELETE /api/deadletters/{partition}/{offset}":      {path: fixedPath("/api/deadletters/0/99999")},
	"POST /api/deadletters/{partition}/{offset}/replay": {path: fixedPath("/api/deadletters/0/99999/replay"), status: 404},
	"POST /api/mcp":                                     {path: fixedPath("/api/mcp"), body: toolCall("grep", `"pattern":"{mark}word|common"`), status: 200},
	"DELETE /api/mcp":                                   {path: fixedPath("/api/mcp")},
	"GET /api/docs":                                     {path: fixedPath("/api/docs"), status: 200},
	"POST /api/auth/setup":                              {path: fixedPath("/api/auth/setup"), body: fixedPath(`{"token":"x","email":"a@b.example","password":"long enough"}`), account: true},
	"POST /api/auth/sign_in":                            {path: fixedPath("/api/auth/sign_in"), body: fixedPath(`{"email":"a@b.example","password":"long enough"}`), account: true},
	"POST /api/auth/sign_out":                           {path: fixedPath("/api/auth/sign_out"), account: true},
	"GET /api/auth/sessions":                            {path: fixedPath("/api/auth/sessions"), account: true},
	"DELETE /api/auth/sessions":                         {path: fixedPath("/api/auth/sessions"), account: true},
	"DELETE /api/auth/sessions/{sessionId}":             {path: fixedPath("/api/auth/sessions/x"), account: true},
	"GET /api/auth/me":                                  {path: fixedPath("/api/auth/me"), account: true},
	"PATCH /api/auth/me":                                {path: fixedPath("/api/auth/me"), body: fixedPath(`{"name":"x"}`), account: true},
	"GET /api/keys":                                     {path: fixedPath("/api/keys"), account: true},
	"POST /api/keys":                                    {path: fixedPath("/api/keys"), body: fillTemplate(`{"name":"x","scopes":["search"],"repoIds":[{id}]}`), account: true},
	"DELETE /api/keys/{keyId}":                          {path: fixedPath("/api/keys/x"), account: true},
	"GET /api/saved_searches":                           {path: fixedPath("/api/saved_searches"), account: true},
	"POST /api/saved_searches":                          {path: fixedPath("/api/saved_searches"), body: fixedPath(`{"name":"x","query":"x"}`), account: true},
	"PATCH /api/saved_searches/{savedSearchId}":         {path: fixedPath("/api/saved_searches/x"), body: fixedPath(`{"name":"x"}`), account: true},
	"DELETE /api/saved_searches/{savedSearchId}":        {path: fixedPath("/api/saved_searches/x"), account: true},
	"GET /api/invitations":                              {path: fixedPath("/api/invitations"), account: true},
	"POST /api/invitations":                             {path: fixedPath("/api/invitations"), body: fixedPath(`{}`), account: true},
	"DELETE /api/invitations/{invitationId}":            {path: fixedPath("/api/invitations/x"), account: true},
	"POST /api/invitations/accept":                      {path: fixedPath("/api/invitations/accept"), body: fixedPath(`{"token":"x"}`), account: true},
	"GET /api/ee/user":                                  {path: fixedPath("/api/ee/user?userId=x"), account: true},
	"DELETE /api/ee/user":                               {path: fixedPath("/api/ee/user?userId=x"), account: true},
	"GET /api/ee/users":                                 {path: fixedPath("/api/ee/users"), account: true},
	"POST /api/users/{userId}/approve":                  {path: fixedPath("/api/users/x/approve"), account: true},
	"POST /api/users/{userId}/suspend":                  {path: fixedPath("/api/users/x/suspend"), account: true},
	"POST /api/users/{userId}/reinstate":                {path: fixedPath("/api/users/x/reinstate"), account: true},
	"POST /api/users/{userId}/role":                     {path: fixedPath("/api/users/x/role"), body: fixedPath(`{"role":"MEMBER"}`), account: true},
	"POST /api/ee/scoped_access_token":                  {path: fixedPath("/api/ee/scoped_access_token"), body: fillTemplate(`{"repoIds":[{id}]}`), account: true},
	"DELETE /api/ee/scoped_access_token/{id}":           {path: fixedPath("/api/ee/scoped_access_token/x"), account: true},
	"GET /api/repos/{repoId}/access":                    {path: fillTemplate("/api/repos/{id}/access"), about: true, status: 200},
	"GET /api/repos/{repoId}/access/{userId}":           {path: fillTemplate("/api/repos/{id}/access/x"), about: true, status: 404},
	"PUT /api/repos/{repoId}/access":                    {path: fillTemplate("/api/repos/{id}/access"), body: fixedPath(`{"visibility":"internal"}`), about: true, changes: true},
	"GET /api/ee/audit":                                 {path: fixedPath("/api/ee/audit"), account: true},
	"GET /api/ee/audit/export":                          {path: fixedPath("/api/ee/audit/export"), account: true},
	"GET /api/ee/audit/head":                            {path: fixedPath("/api/ee/audit/head"), account: true},
	"POST /api/ee/audit/verifications":                  {path: fixedPath("/api/ee/audit/verifications"), account: true},
	"GET /api/models":                                   {path: fixedPath("/api/models"), status: 200},
	"GET /api/version":                                  {path: fixedPath("/api/version"), status: 200},
	"GET /api/health":                                   {path: fixedPath("/api/health"), status: 200},
	"GET /api/openapi.json":                             {path: fixedPath("/api/openapi.json"), status: 200},
	"GET /healthz":                                      {path: fixedPath("/healthz"), status: 200},
	"GET /readyz":                                       {path: fixedPath("/readyz"), status: 200},
}

// toolCall is a message that calls a tool.
func toolCall(tool, arguments string) func(*secret) string {
	return fillTemplate(`{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"name":"` + tool + `","arguments":{` + arguments + `}}}`)
}

// atCommon is the position of a symbol that the precise index of every secret defines.
const atCommon = `{"symbolName":"common","position":{"repoName":"{name}","path":"shared.go","lineNumber":3}}`

// moreRows are more requests to operations that are listed above.
var moreRows = []seenRow{
	{path: fixedPath("/api/search"), body: fillTemplate(`{"query":"{mark}word","matches":10,"explain":true}`), status: 200},
	{path: fixedPath("/api/search"), body: fillTemplate(`{"query":"sharedtext","matches":1,"explain":true}`), status: 200},
	{path: fixedPath("/api/search"), body: fillTemplate(`{"query":"regex:.","matches":1000,"display":1}`), status: 200},
	{path: fixedPath("/api/search"), body: fillTemplate(`{"query":"type:repo repo:.","matches":10}`), status: 200},
	{path: fixedPath("/api/search"), body: fillTemplate(`{"query":"common select:repo rev:*","matches":10}`), status: 200},
	{path: fixedPath("/api/search"), body: fillTemplate(`{"query":"-repo:{mark} rev:{branch} or common","matches":10}`), status: 200},
	{path: fixedPath("/api/search"), body: fillTemplate(`{"query":"sym:Symbol visibility:private","matches":10}`), status: 200},
	{path: fixedPath("/api/search"), body: fillTemplate(`{"query":"visibility:public common","matches":10}`), status: 200},
	{path: fixedPath("/api/search"), body: fillTemplate(`{"query":"file:{mark} lang:go","matches":10}`), status: 200},
	{path: fixedPath("/api/search"), body: fillTemplate(`{"query":"context:{mark}context common","matches":10}`), about: true, status: 200},
	{path: fixedPath("/api/stream_search"), body: fillTemplate(`{"query":"context:{mark}context common","matches":10}`), about: true, status: 200},
	{path: fixedPath("/api/find_definitions"), body: fillTemplate(`{"symbolName":"{mark}Symbol"}`), status: 200},
	{path: fixedPath("/api/find_definitions"), body: fillTemplate(`{"symbolName":"{mark}Symbbol"}`), status: 200}, // near names are suggested
	{path: fixedPath("/api/find_references"), body: fillTemplate(`{"symbolName":"{mark}symbol"}`), status: 200},
	{path: fixedPath("/api/find_definitions"), body: fillTemplate(atCommon), status: 200},
	{path: fixedPath("/api/find_references"), body: fillTemplate(atCommon), status: 200},
	{path: fixedPath("/api/find_implementations"), body: fillTemplate(atCommon), status: 200},
	{path: fixedPath("/api/hover"), body: fillTemplate(atCommon), status: 200},
	{path: fixedPath("/api/mcp"), body: toolCall("find_symbol_definitions", `"symbol":"common","repo":"{name}","path":"shared.go","line":3`), about: true, status: 200},
	{path: fixedPath("/api/repos"), status: 200},
	{path: fixedPath("/api/repos?sort=pushed&direction=desc&perPage=1"), status: 200},
	{path: fillTemplate("/api/repos/{id}/skipped?ref={branch}"), about: true, status: 200},
	{path: fillTemplate("/api/repos/{number}/skipped"), about: true, status: 200},
	{path: fillTemplate("/api/repos/{number}/status"), about: true, status: 200},
	{path: fillTemplate("/api/source?repo={name}&path=nosuch"), about: true, status: 404},
	{path: fillTemplate("/api/source?repo={name}&path={path}&ref=nosuch"), about: true, status: 400},
	{path: fillTemplate("/api/commits?repo={name}&ref=--all"), about: true, status: 400},
	{path: fixedPath("/api/mcp"), body: toolCall("grep", `"pattern":"common","repo":"{name}"`), about: true, status: 200},
	{path: fixedPath("/api/mcp"), body: toolCall("grep", `"pattern":"common","groupByRepo":true`), status: 200},
	{path: fixedPath("/api/mcp"), body: toolCall("search", `"query":"{mark}word or common"`), status: 200},
	{path: fixedPath("/api/mcp"), body: toolCall("search", `"query":"repo:{name} select:repo"`), about: true, status: 200},
	{path: fixedPath("/api/mcp"), body: toolCall("find_implementations", `"symbol":"{mark}word"`), status: 200},
	{path: fixedPath("/api/mcp"), body: toolCall("glob", `"pattern":"**/*.go","ref":"*"`), status: 200},
	{path: fixedPath("/api/mcp"), body: toolCall("read_file", `"repo":"{name}","path":"{path}"`), about: true, status: 200},
	{path: fixedPath("/api/mcp"), body: toolCall("list_tree", `"repo":"{name}"`), about: true, status: 200},
	{path: fixedPath("/api/mcp"), body: toolCall("list_repos", `"query":"{mark}"`), status: 200},
	{path: fixedPath("/api/mcp"), body: toolCall("list_repos", ``), status: 200},
	{path: fixedPath("/api/mcp"), body: toolCall("find_symbol_definitions", `"symbol":"{mark}Symbol"`), status: 200},
	{path: fixedPath("/api/mcp"), body: toolCall("find_symbol_references", `"symbol":"common"`), status: 200},
	{path: fixedPath("/api/mcp"), body: toolCall("list_commits", `"repo":"{name}"`), about: true, status: 200},
	{path: fixedPath("/api/mcp"), body: toolCall("get_commit", `"repo":"{name}","ref":"{head}"`), about: true, status: 200},
	{path: fixedPath("/api/mcp"), body: toolCall("get_diff", `"repo":"{name}","base":"{old}","head":"{head}"`), about: true, status: 200},
	{path: fixedPath("/api/mcp"), body: toolCall("get_blame", `"repo":"{name}","path":"{path}"`), about: true, status: 200},
	{path: fixedPath("/api/mcp"), body: toolCall("list_branches", `"repo":"{name}"`), about: true, status: 200},
}

// operationScopes returns the scope that each operation needs.
func operationScopes(t *testing.T) map[string]string {
	t.Helper()
	document, err := openapi.Load()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, path := range document.Paths {
		for _, m := range path.Value.Methods() {
			out[m.Name+" "+path.Name] = string(m.Operation.Access)
		}
	}
	return out
}

// expectedRefusal returns the status for a role that may not call an operation, or 0 if
// it may.
func (x *role) expectedRefusal(access, path string) int {
	p := x.principal
	if access == "open" {
		return 0
	}
	if p == nil {
		return http.StatusUnauthorized
	}
	lacks := func(scope account.Scope) bool { return !p.Anonymous() && !p.Has(scope) }
	switch {
	case access == "search" && lacks(account.ScopeSearch), access == "git" && lacks(account.ScopeGit),
		access == "read" && lacks(account.ScopeSearch) && lacks(account.ScopeGit),
		access == "member" && p.Actor.Kind == account.ActorToken:
		return http.StatusForbidden
	case (access == "operator" || access == "owner" || access == "scip" || access == "member") && p.Anonymous():
		return http.StatusUnauthorized
	case access == "operator" && p.Actor.Kind != account.ActorOperator:
		return http.StatusForbidden
	case access == "scip" && (p.Role != account.RoleOwner || lacks(account.ScopeScip)):
		return http.StatusForbidden
	case access == "owner" && (!p.Owner() || p.Repositories != nil && !strings.Contains(path, "{repoId}")):
		return http.StatusForbidden
	}
	return 0
}

// TestEveryOperationAsEveryRole calls every operation, for every repository, in every
// role. The statuses must equal those of a model. No response may contain a word, number
// or hash of a repository that the caller may not see, and the response about such a
// repository must equal that for a repository that does not exist.
func TestEveryOperationAsEveryRole(t *testing.T) {
	t.Parallel()
	repositories := map[string]*written{}
	for _, mark := range marks {
		repositories[mark] = writeSecret(t, mark)
	}
	w := newSeenWorld(t, repositories, marks...)
	access := operationScopes(t)
	for name := range access {
		if _, ok := seenRows[name]; !ok {
			t.Errorf("%s has no row in seenRows: say what it may tell of a repository", name)
		}
	}
	for name, row := range seenRows {
		if access[name] == "" {
			t.Errorf("%s is no operation", name)
			continue
		}
		w.checkRow(name, access[name], row)
	}
	for _, row := range moreRows {
		path, _, _ := strings.Cut(row.path(&secret{id: 1}), "?")
		name := "GET " + path
		if row.body != nil {
			name = "POST " + path
		}
		if strings.HasPrefix(path, "/api/repos/") {
			name = "GET /api/repos/{repoId}/skipped"
		}
		w.checkRow(name, access[name], row)
	}
}

func (w *seenWorld) checkRow(name, access string, row seenRow) {
	method, path, _ := strings.Cut(name, " ")
	for i := range w.roles {
		x := &w.roles[i]
		for _, mark := range marks {
			target := w.secrets[mark]
			sees := slices.Contains(x.sees, mark)
			if row.changes && sees && x.expectedRefusal(access, path) == 0 {
				target, sees = noSecret(target), false
			}
			rec, answer := w.requestRow(x, method, &row, target)
			want := x.expectedRefusal(access, path)
			switch {
			case want != 0:
			case row.account:
				want = rec.Code
			case row.about && !sees && path != "/api/mcp":
				want = http.StatusNotFound
			default:
				want = row.status
			}
			if want != 0 && rec.Code != want || want == 0 && (rec.Code == 401 || rec.Code == 403) {
				w.t.Errorf("%s of %s as %s: status %d, want %d\n%.300s", name, mark, x.name, rec.Code, want, rec.Body)
			}
			if told := w.findLeak(x, answer); told != "" {
				w.t.Errorf("%s of %s as %s tells %q:\n%.2000s", name, mark, x.name, told, answer)
			}
			if !sees && row.about {
				if _, nowhere := w.requestRow(x, method, &row, noSecret(target)); cutAdvice(nowhere) != cutAdvice(answer) {
					w.t.Errorf("%s of %s as %s differs from one that is nowhere:\n%.600s\nwant\n%.600s", name, mark, x.name, answer, nowhere)
				}
			}
		}
	}
}

// advice matches the suggestions for a misspelled name: similar names that the caller may
// see. findLeak has checked them.
var advice = regexp.MustCompile(`; did you mean [^?"]*\?`)

func cutAdvice(answer string) string { return advice.ReplaceAllString(answer, "") }

// requestRow calls the operation of a row for a repository. It removes the values that
// were sent from the returned answer.
func (w *seenWorld) requestRow(x *role, method string, row *seenRow, s *secret) (rec *httptest.ResponseRecorder, answer string) {
	body := ""
	if row.body != nil {
		body = row.body(s)
	}
	rec = w.sendRequest(x.name, method, row.path(s), body)
	var sent []string
	for _, word := range []string{s.name, s.filePath(), s.branchName(), string(s.head), string(s.old), s.id.String(), s.mark + "Symbol", s.mark + "word", s.mark + "context", s.mark} {
		if strings.Contains(body+row.path(s), word) {
			sent = append(sent, word)
		}
	}
	sent = append(sent, fmt.Sprintf("repository %d:", s.number))
	if slices.Contains(x.sees, s.mark) {
		sent = nil
	}
	if row.account && x.principal != nil {
		// The creator of a key knows the numbers of its repositories.
		for id := range x.principal.Repositories {
			sent = append(sent, id.String())
		}
	}
	return rec, visibleResponse(rec, sent...)
}

// findLeak returns a text in an answer that reveals a repository that the caller may not
// see.
func (w *seenWorld) findLeak(x *role, answer string) string {
	answer = strings.ToLower(answer)
	for mark, s := range w.secrets {
		if slices.Contains(x.sees, mark) {
			continue
		}
		for _, word := range []string{mark, s.id.String(), string(s.head), string(s.old)} {
			if strings.Contains(answer, word) {
				return word
			}
		}
		for _, member := range []string{"repoid", "repositoryid"} {
			if number := fmt.Sprintf("%q:%d", member, s.number); strings.Contains(answer, number+",") || strings.Contains(answer, number+"}") {
				return number
			}
		}
	}
	return ""
}

// TestNothingIsMissed compares the answers to a caller who may see one of many
// repositories with the answers to an owner of a server with only that repository. Every
// member must be equal, except for times and for members that are omitted on purpose
// (docs/api.md, docs/accounts.md). The other repositories were registered first, among
// them a fork that contains all files of the visible one.
func TestNothingIsMissed(t *testing.T) {
	t.Parallel()
	repositories := map[string]*written{}
	for _, mark := range marks {
		repositories[mark] = writeSecret(t, mark)
	}
	repositories["qzfork"] = writeFork(t, repositories["qzpub"])
	many := newSeenWorld(t, repositories, "qzfork", "qzhid", "qzpriv", "qzint", "qzpub")
	alone := newSeenWorld(t, repositories, "qzpub")
	ask := func(w *seenWorld, as, name string, row seenRow) any {
		method, _, _ := strings.Cut(name, " ")
		target := w.secrets["qzpub"]
		body := ""
		if row.body != nil {
			body = row.body(target)
		}
		answer := visibleResponse(w.sendRequest(as, method, row.path(target), body))
		if as == "anonymous" && counted.MatchString(answer) {
			t.Errorf("%s %s as %s counts what may be hidden: %s", name, body, as, counted.FindString(answer))
		}
		return withoutTimes(t, withoutNumber(answer, target.number))
	}
	for _, name := range slices.Sorted(maps.Keys(seenRows)) {
		row := seenRows[name]
		access := operationScopes(t)[name]
		if row.account || row.changes || access != "search" && access != "git" && name != "POST /api/mcp" {
			continue
		}
		if got, want := ask(many, "anonymous", name, row), ask(alone, "owner", name, row); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%v\nwhere it is alone:\n%v", name, got, want)
		}
	}
	for _, row := range moreRows {
		name := "GET"
		if row.body != nil {
			name = "POST"
		}
		if got, want := ask(many, "anonymous", name, row), ask(alone, "owner", name, row); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%v\nwhere it is alone:\n%v", row.path(many.secrets["qzpub"]), got, want)
		}
	}
}
