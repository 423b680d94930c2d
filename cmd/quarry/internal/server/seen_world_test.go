package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/pipeline/analyze"
	"github.com/quarrysearch/quarry/projections/scip/sciptest"
	"github.com/quarrysearch/quarry/query/api"
	"github.com/quarrysearch/quarry/query/assist"
	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/live"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/web"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// A secret is a repository whose words all contain its mark: name, paths, contents,
// symbols, authors, messages, branches, connection and pages.
type secret struct {
	mark   string
	id     code.RepositoryID
	number code.RepositoryNumber
	name   string
	head   code.CommitID
	old    code.CommitID
}

func (s *secret) filePath() string   { return s.mark + "dir/" + s.mark + "file.go" }
func (s *secret) branchName() string { return s.mark + "branch" }

// noSecret returns a repository with a similar name that does not exist.
func noSecret(like *secret) *secret {
	mark := like.mark[:3] + strings.Repeat("x", len(like.mark)-3) // as similar to other names
	id := strings.Repeat("8", len(like.id.String()))
	n, _ := strconv.ParseUint(id, 10, 64)
	commit := func(c code.CommitID) code.CommitID { return code.CommitID(strings.Repeat("7", len(c))) }
	return &secret{mark: mark, id: code.RepositoryID(n), number: 9, name: strings.ReplaceAll(like.name, like.mark, mark), head: commit(like.head), old: commit(like.old)}
}

// written is a secret that exists on disk.
type written struct {
	*gitRepository
	secret
}

func writeSecret(t *testing.T, mark string) *written {
	g := newGitRepository(t, mark+"name", mark+"*")
	g.Name, g.DisplayName = "host.example/team/"+mark+"name", mark+"display"
	g.WebURL, g.ImageURL, g.Connection = "https://"+mark+".example/page", "https://"+mark+".example/image", mark+"connection"
	g.Description = mark + " description"
	text := fmt.Sprintf("package %[1]sp\n\n// common words, and %[1]sword\nfunc %[1]sSymbol() { common() }\n", mark)
	g.commitFiles("shared.go", "package shared\n\nfunc common() { sharedtext() }\n", mark+"dir/"+mark+"file.go", text, mark+"skipped.bin", "\x00\x01\x02")
	old := g.runGitCommand("rev-parse", "HEAD")
	g.runGitCommand("-c", "user.name="+mark+"author", "-c", "user.email="+mark+"@mail.example", "commit", "--quiet", "--allow-empty", "--message", mark+" message")
	g.runGitCommand("branch", mark+"branch")
	head := code.CommitID(g.runGitCommand("rev-parse", "HEAD"))
	return &written{g, secret{mark: mark, id: g.ID, name: g.Name, head: head, old: code.CommitID(old)}}
}

// writeFork creates a hidden fork of a secret: its history, followed by a commit that
// adds files and changes none of the others.
func writeFork(t *testing.T, of *written) *written {
	f := writeSecret(t, "qzfork")
	f.runGitCommand("fetch", "--quiet", of.dir, "main")
	f.runGitCommand("checkout", "--quiet", "--force", "-B", "main", "FETCH_HEAD")
	f.old = code.CommitID(f.runGitCommand("rev-parse", "HEAD"))
	f.head = f.commitFiles("qzforkdir/qzforkfile.go", "package qzforkp\n\n// common words, and qzforkword\n", "aaa/first.go", "package first\n\nfunc common() { sharedtext() }\n")
	f.runGitCommand("branch", "--force", f.branchName())
	return f
}

// indexCommon returns a precise index in which every secret defines the same symbol. The
// description of the symbol contains the mark.
func (w *written) indexCommon() []byte {
	const common = "scip-go gomod example.com/shared v1 `shared`/common()."
	return sciptest.NewIndex("scip-go").Part(2, sciptest.NewDocument("shared.go",
		sciptest.Message{}.Part(2, sciptest.NewOccurrence(common, 1, 2, 5, 11)),
		sciptest.Message{}.Part(3, sciptest.Message{}.Text(1, common).Text(3, w.mark+" text"))))
}

// A role is a kind of caller.
type role struct {
	name      string
	principal *auth.Principal // nil: the credential is invalid
	sees      []string        // marks
}

// marks are the marks of the repositories: qzpub is public, qzint internal, qzpriv
// private with the user "named", qzhid private without named users.
var marks = []string{"qzpub", "qzint", "qzpriv", "qzhid"}

func everyRole(ids map[string]code.RepositoryID) []role {
	only := func(marks ...string) map[code.RepositoryID]struct{} {
		out := map[code.RepositoryID]struct{}{}
		for _, m := range marks {
			out[ids[m]] = struct{}{}
		}
		return out
	}
	all := []account.Scope{account.ScopeSearch, account.ScopeGit, account.ScopeAdmin, account.ScopeScip}
	by := func(kind account.ActorKind, user account.UserID, credential string, r account.Role, scopes []account.Scope, only map[code.RepositoryID]struct{}) *auth.Principal {
		return &auth.Principal{Actor: account.Actor{Kind: kind, User: user, Credential: credential}, Role: r, Scopes: scopes, Repositories: only}
	}
	member, owner := account.RoleMember, account.RoleOwner
	return []role{
		{"no credential, where anonymous requests are off", nil, nil},
		{"a suspended user", nil, nil},
		{"anonymous", by(account.ActorAnonymous, "", "", "", all[:2], nil), marks[:1]},
		{"member", by(account.ActorUser, "member", "s1", member, all, nil), marks[:2]},
		{"named member", by(account.ActorUser, "named", "s2", member, all, nil), marks[:3]},
		{"key of a member for search", by(account.ActorKey, "member", "k1", member, all[:1], nil), marks[:2]},
		{"key of a member for git", by(account.ActorKey, "member", "k2", member, all[1:2], nil), marks[:2]},
		{"key of a member for admin", by(account.ActorKey, "member", "k3", member, all[2:], nil), marks[:2]},
		{"key of a member for what they may not see", by(account.ActorKey, "member", "k4", member, all, only("qzpub", "qzhid")), marks[:1]},
		{"key for no repository", by(account.ActorKey, "owner", "k5", owner, all, only()), nil},
		{"key of an owner for one repository", by(account.ActorKey, "owner", "k6", owner, all, only("qzint")), []string{"qzint"}},
		{"scoped token", by(account.ActorToken, "named", "t1", member, all[:2], only("qzpriv")), []string{"qzpriv"}},
		{"owner's key without admin", by(account.ActorKey, "owner", "k7", owner, all[:2], nil), marks},
		{"owner", by(account.ActorUser, "owner", "s3", owner, all, nil), marks},
		{"operator", by(account.ActorOperator, "", "", owner, all, nil), marks},
	}
}

// roleGate is auth.Service, except that a header selects the caller.
type roleGate struct {
	*auth.Service
	roles []role
}

func (g *roleGate) Authenticate(r *http.Request) (*auth.Principal, error) {
	i := slices.IndexFunc(g.roles, func(x role) bool { return x.name == r.Header.Get("Authorization") })
	if i < 0 || g.roles[i].principal == nil {
		return nil, auth.ErrUnauthenticated
	}
	return g.roles[i].principal, nil
}

// decisions is a directory of users that contains nothing else.
type decisions struct {
	auth.Directory
	access map[code.RepositoryID]*account.Access
}

func (d *decisions) Access() map[code.RepositoryID]*account.Access       { return d.access }
func (d *decisions) UserByEmail(string) (*account.User, bool)            { return nil, false }
func (d *decisions) Users() []*account.User                              { return nil }
func (d *decisions) Owners() int                                         { return 1 }
func (d *decisions) KeyByHash(string) (*account.Key, bool)               { return nil, false }
func (d *decisions) Key(account.KeyID) (*account.Key, bool)              { return nil, false }
func (d *decisions) Keys(account.UserID) []*account.Key                  { return nil }
func (d *decisions) TokenByHash(string) (*account.Token, bool)           { return nil, false }
func (d *decisions) Token(account.TokenID) (*account.Token, bool)        { return nil, false }
func (d *decisions) SessionByHash(string) (*account.Session, bool)       { return nil, false }
func (d *decisions) Sessions(account.UserID) []*account.Session          { return nil }
func (d *decisions) InvitationByHash(string) (*account.Invitation, bool) { return nil, false }
func (d *decisions) Invitations() []*account.Invitation                  { return nil }
func (d *decisions) SavedSearches(account.UserID) []*account.SavedSearch { return nil }
func (d *decisions) User(id account.UserID) (*account.User, bool) {
	role := account.RoleMember
	if id == "owner" {
		role = account.RoleOwner
	}
	return &account.User{ID: id, Role: role, State: account.StateActive}, id != "x"
}

// namedPictures returns for each repository a picture that contains its name.
type namedPictures struct{}

func (namedPictures) Load(_ context.Context, r *code.Repository) (body []byte, contentType string, err error) {
	return []byte("GIF89a" + r.Name), "image/gif", nil
}

// noAppender discards all events.
type noAppender struct{}

func (noAppender) Append(context.Context, ...event.Event) (event.Position, error) {
	return event.Position{}, errors.New("nothing can be appended")
}

// seenWorld is a server with repositories of every visibility.
type seenWorld struct {
	t       *testing.T
	api     *api.Server
	pages   *web.Server
	server  *Server
	roles   []role
	secrets map[string]*secret
	// searches has the metrics of searches.
	searches *prometheus.Registry
	// events is the position of the event stream before the repositories were registered.
	events string
	// beforeEvents is a subscription at that position, for positions that are not too old.
	beforeEvents *live.Subscription
}

// newSeenWorld registers the repositories with the given marks, in that order.
func newSeenWorld(t *testing.T, repositories map[string]*written, present ...string) *seenWorld {
	t.Helper()
	var roots []string
	for _, r := range repositories {
		roots = append(roots, filepath.Dir(r.dir))
	}
	s := runServer(t, testConfig(t, "git.allowedRoots="+strings.Join(roots, ","), "publicUrl=https://code.example"))
	w := &seenWorld{t: t, secrets: map[string]*secret{}}
	waitUntil(t, func() bool {
		subscription, _, err := s.feed.Subscribe("")
		if err == nil {
			w.events, w.beforeEvents = subscription.Position(), subscription
		}
		return err == nil
	})
	t.Cleanup(w.beforeEvents.Close)
	ids := map[string]code.RepositoryID{}
	for mark, r := range repositories {
		ids[mark] = r.ID
	}
	for _, mark := range present {
		r := repositories[mark]
		s.registerAt(t, r.gitRepository, r.head)
		registered := r.secret
		registered.number = s.accounts.Numbers.OfRepository(r.ID)
		w.secrets[mark] = &registered
		waitUntil(t, func() bool {
			v := s.versions.Live().Places.Acquire()
			defer v.Release()
			return v.Repository(r.ID).Ref(code.BranchRef(r.branchName())) != nil
		})
		s.uploadScip(t, r.gitRepository, r.head, r.indexCommon())
	}
	access := map[code.RepositoryID]*account.Access{}
	for mark, id := range ids {
		switch mark {
		case "qzpub":
		case "qzint":
			access[id] = &account.Access{Repository: id, Visibility: account.Internal}
		case "qzpriv":
			access[id] = &account.Access{Repository: id, Visibility: account.Private, Members: []account.UserID{"named"}}
		default:
			access[id] = &account.Access{Repository: id, Visibility: account.Private}
		}
	}
	service, err := auth.NewService(auth.Options{Directory: &decisions{access: access}, Appender: noAppender{}, Secret: make([]byte, auth.MinSecretBytes), Catalog: s.repositories})
	if err != nil {
		t.Fatal(err)
	}
	w.roles = everyRole(ids)
	o := s.apiOptions
	o.Gate, o.Accounts, o.Audit, o.Registerer = &roleGate{service, w.roles}, service, noAudit{}, prometheus.NewRegistry()
	o.Pictures = namedPictures{}
	o.Limits = front.Limits{PerSecond: 1 << 20, Burst: 1 << 20, AnonymousPerSecond: 1 << 20, AnonymousBurst: 1 << 20}
	contexts := map[string]corpus.Context{}
	for _, mark := range marks {
		contexts[mark+"context"] = func(name string) bool { return strings.Contains(name, mark) }
	}
	w.server, w.searches = s, prometheus.NewRegistry()
	engine := search.New(search.Options{Contexts: contexts, Registerer: w.searches})
	o.Searcher, o.FileFinder = assist.New(engine, w.searches), engine
	if w.api, err = api.New(o); err != nil {
		t.Fatal(err)
	}
	w.pages, err = web.New(web.Options{Front: w.api.Front(), Accounts: service, Code: w.api, Source: o.Source, Search: w.api, API: w.api, Outline: analyze.Outline{}, Secret: make([]byte, auth.MinSecretBytes), PublicURL: o.PublicURL})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// sendRequest sends a request. The query in path must be escaped.
func (w *seenWorld) sendRequest(as, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
	r.Header.Set("Authorization", as)
	r.Header.Set("X-Request-Id", "test")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	rec := httptest.NewRecorder()
	w.api.ServeHTTP(rec, r)
	return rec
}

// sendPageRequest requests a page.
func (w *seenWorld) sendPageRequest(as, accept, address string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "http://127.0.0.1"+address, nil)
	r.Header.Set("Authorization", as) // pages pass it to the API
	r.Header.Set("X-Request-Id", "test")
	r.Header.Set("Accept", accept)
	rec := httptest.NewRecorder()
	w.pages.ServeHTTP(rec, r)
	return rec
}

// visibleResponse returns everything in a response that a client sees, without the texts
// that it sent.
func visibleResponse(rec *httptest.ResponseRecorder, sent ...string) string {
	var b strings.Builder
	fmt.Fprintln(&b, rec.Code)
	for _, name := range []string{"Link", "X-Total-Count", "Allow", "Location", "Content-Length", "Retry-After", "Mcp-Session-Id"} {
		if v := rec.Header().Values(name); len(v) > 0 && name != "Content-Length" {
			fmt.Fprintln(&b, name, v)
		}
	}
	b.WriteString(rec.Body.String())
	out := b.String()
	slices.SortFunc(sent, func(a, b string) int { return len(b) - len(a) })
	for _, s := range sent {
		for _, form := range []string{s, url.QueryEscape(s), url.PathEscape(s)} {
			if form != "" {
				out = strings.ReplaceAll(out, form, "…")
			}
		}
	}
	return out
}
