package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// Bounds of the page of a repository; more entries are counted.
const (
	maxShownRefs       = 100
	maxShownDeliveries = 5
	skippedPerPage     = 100
)

// repositoryPage is the data of the page of a repository.
type repositoryPage struct {
	wire.RepositoryStatus
	Path, Browse, External string // addresses: of this page, of its files, on the code host
	Description            string // from the code host
	Image                  string // address of its picture; empty if the code host has none
	Refs                   []wire.RefStatus
	MoreRefs               int
	Branch                 string // the default branch
	Badge, BadgeText       string
	Lag                    string // seconds from the last push until it was indexed
	Percent                int    // of an import; -1 if its size is unknown
	Deliveries             []wire.Delivery
	Access                 *wire.Access
	Visibilities           []choice
	Members                string // addresses of those who may see it while it is private, one per line
}

func (s *Server) repoPage(w http.ResponseWriter, v *pageRequest) error {
	return s.showRepo(w, v, form{}, 0)
}

// repoNumber parses {id} of the path. There is no page for an invalid number.
func repoNumber(v *pageRequest) (int64, error) {
	id, err := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	if err != nil || id <= 0 {
		return 0, errNoPage
	}
	return id, nil
}

func (s *Server) showRepo(w http.ResponseWriter, v *pageRequest, f form, status int) error {
	id, err := repoNumber(v)
	if err != nil {
		return err
	}
	ctx := v.r.Context()
	api := s.operationsOf(v)
	st, err := api.GetRepositoryStatus(ctx, id)
	if err != nil {
		return operationError(v, err)
	}
	p := &repositoryPage{RepositoryStatus: *st, Path: repoPath(id), Browse: source.Address{Repository: st.RepoName, Kind: source.PageTree}.String(), Percent: -1}
	slices.SortFunc(st.Refs, func(a, b wire.RefStatus) int { return compareRefs(code.Ref(a.Ref), code.Ref(b.Ref)) })
	p.Refs = st.Refs[:min(len(st.Refs), maxShownRefs)]
	p.MoreRefs = len(st.Refs) - len(p.Refs)
	p.Badge, p.BadgeText = s.repoBadge(st)
	if lag := st.Freshness.LagSeconds; lag != nil {
		p.Lag = strconv.FormatFloat(*lag, 'f', 2, 64)
	}
	if total := st.Progress.BytesTotal; total > 0 {
		p.Percent = int(min(100*st.Progress.Bytes/total, 100))
	}
	row, err := findRow(ctx, api, st.RepoName)
	if err != nil {
		return operationError(v, err)
	}
	if st.State == wire.RepositoryStatusStateRegistered { // others are not empty
		shown := []listedRepository{{Repository: row}}
		if err := s.addStates(ctx, shown); err != nil {
			return operationError(v, err)
		}
		if shown[0].Empty {
			p.Badge, p.BadgeText = "", s.texts.mustFormat("state_empty")
		}
	}
	p.External, p.Branch, p.Description = row.ExternalWebURL, row.DefaultBranch, row.Description
	if row.ImageURL != "" {
		p.Image = picturePath(id)
	}
	if v.isOwner() {
		if page, err := api.ListDeliveries(ctx, client.ListDeliveriesParams{Repository: strconv.FormatInt(id, 10), Limit: maxShownDeliveries}); err == nil {
			p.Deliveries = page.Deliveries
		} else if !isMissing(err) {
			return operationError(v, err)
		}
		if p.Access, err = api.GetRepositoryAccess(ctx, id); err != nil && !isMissing(err) {
			return operationError(v, err)
		}
		if p.Access != nil {
			if p.Members, err = s.memberAddresses(ctx, api, f, p.Access.Members); err != nil {
				return operationError(v, err)
			}
			p.Visibilities = markChosen(string(p.Access.Decided),
				choice{Value: "", Label: s.texts.mustFormat("access_undecided")},
				choice{Value: string(wire.AccessRequestVisibilityPublic), Label: s.texts.mustFormat("access_public")},
				choice{Value: string(wire.AccessRequestVisibilityInternal), Label: s.texts.mustFormat("access_internal")},
				choice{Value: string(wire.AccessRequestVisibilityPrivate), Label: s.texts.mustFormat("access_private")})
		}
	}
	return s.renderPage(w, v, view{template: "repo", title: st.RepoName, status: status, form: f, data: p})
}

// findRow returns the row of a repository in the list of all repositories; an empty one
// if it was removed in the meantime.
func findRow(ctx context.Context, api *client.Client, name string) (wire.Repository, error) {
	for row, err := range api.ListRepositoriesAll(ctx, client.ListRepositoriesParams{Query: name, PerPage: reposPerPage}) {
		if err != nil || row.RepoName == name {
			return row, err
		}
	}
	return wire.Repository{}, nil
}

// isMissing reports whether this process does not support the operation now.
func isMissing(err error) bool {
	_, status, _ := refusedOperation(err)
	return status == http.StatusServiceUnavailable
}

// repoBadge returns the state of a repository as a short text, with the class of its
// color.
func (s *Server) repoBadge(st *wire.RepositoryStatus) (class, text string) {
	waiting := time.Duration(st.Freshness.StaleSeconds * float64(time.Second))
	switch {
	case st.State == wire.RepositoryStatusStateImporting:
		return "wait", s.texts.mustFormat("state_importing")
	case st.State == wire.RepositoryStatusStateRegistered:
		return "wait", s.texts.mustFormat("state_registered")
	case st.State == wire.RepositoryStatusStateFailed || st.LastError.Message != "":
		return "bad", s.texts.mustFormat("state_failed")
	case waiting >= staleFailure:
		return "bad", s.texts.mustFormat("state_stale")
	case waiting >= staleWarning:
		return "wait", s.texts.mustFormat("state_stale")
	}
	return "good", s.texts.mustFormat("state_indexed")
}

// changeRepo applies the action of the form's button to a repository.
func (s *Server) changeRepo(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	id, err := repoNumber(v)
	if err != nil {
		return err
	}
	ctx := v.r.Context()
	api, done, back := s.operationsOf(v), "", repoPath(id)
	switch f.Get("do") {
	case "refresh":
		_, err = api.RefreshRepository(ctx, id)
		done = "refresh-asked"
	case "reindex":
		_, err = api.ReindexRepository(ctx, id)
		done = "reindex-asked"
	case "remove":
		_, err = api.RemoveRepository(ctx, id)
		done, back = "repo-removed", "/repos"
	case "access":
		err = s.decideAccess(ctx, api, id, &f)
		done = "access"
	default:
		return errNoPage
	}
	if missing, ok := errors.AsType[*noMemberError](err); ok {
		f.addError("members", missing.message)
		return s.showRepo(w, v, f, http.StatusBadRequest)
	}
	if err != nil {
		return s.showRefusal(w, v, f, err, s.showRepo)
	}
	return redirectDone(w, v, back, done)
}

// memberAddresses returns the content of the members field: what was typed, or otherwise
// the addresses of the current members.
func (s *Server) memberAddresses(ctx context.Context, api *client.Client, f form, members []string) (string, error) {
	if f.values.Has("members") || len(members) == 0 {
		return f.Get("members"), nil
	}
	users, err := api.ListUsers(ctx)
	if err != nil {
		return "", err
	}
	var addresses []string
	for _, u := range users {
		if slices.Contains(members, u.ID) {
			addresses = append(addresses, u.Email)
		}
	}
	return strings.Join(addresses, "\n"), nil
}

// noMemberError reports that no user has an address.
type noMemberError struct{ message string }

func (e *noMemberError) Error() string { return e.message }

// findMembers returns the users with the addresses in the form.
func (s *Server) findMembers(ctx context.Context, api *client.Client, text string) ([]string, error) {
	addresses := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return unicode.IsSpace(r) || r == ',' || r == ';' })
	if len(addresses) == 0 {
		return nil, nil
	}
	users, err := api.ListUsers(ctx)
	if err != nil {
		return nil, err
	}
	known := make(map[string]string, len(users))
	for _, u := range users {
		known[u.Email] = u.ID
	}
	var members []string
	for _, address := range addresses {
		id, ok := known[address]
		if !ok {
			return nil, &noMemberError{s.texts.mustFormat("access_nomember", "address", cutText(address, account.MaxEmailBytes))}
		}
		if !slices.Contains(members, id) {
			members = append(members, id)
		}
	}
	return members, nil
}

// decideAccess sets who may see a repository. A form without members keeps the current
// ones.
func (s *Server) decideAccess(ctx context.Context, api *client.Client, id int64, f *form) error {
	now, err := api.GetRepositoryAccess(ctx, id)
	if err != nil {
		return err
	}
	body := wire.AccessRequest{Members: now.Members}
	if f.values.Has("members") {
		if body.Members, err = s.findMembers(ctx, api, f.Get("members")); err != nil {
			return err
		}
	}
	if visibility := f.Get("visibility"); visibility != "" {
		decided := wire.AccessRequestVisibility(visibility)
		body.Visibility = &decided
	}
	_, err = api.SetRepositoryAccess(ctx, id, body)
	return err
}

// skippedPage is the data of the page of skipped files.
type skippedPage struct {
	Repository     *wire.RepositoryStatus
	Path           string // of the page of the repository
	Files          []wire.SkippedFile
	Total          int
	Ref            string
	Reasons        []choice
	Next, Previous string
}

func (s *Server) skippedFilesPage(w http.ResponseWriter, v *pageRequest) error {
	id, err := repoNumber(v)
	if err != nil {
		return err
	}
	ctx := v.r.Context()
	api, asked := s.operationsOf(v), v.r.URL.Query()
	st, err := api.GetRepositoryStatus(ctx, id)
	if err != nil {
		return operationError(v, err)
	}
	params := client.ListSkippedFilesParams{Page: pageNumber(asked), PerPage: skippedPerPage, Ref: cutText(asked.Get("ref"), code.MaxRefBytes), Reason: cutText(asked.Get("reason"), maxFilterBytes)}
	page, err := api.ListSkippedFiles(ctx, id, params)
	if err != nil {
		return operationError(v, err)
	}
	list := &skippedPage{Repository: st, Path: repoPath(id), Files: page.Items, Total: page.Total, Ref: params.Ref, Reasons: s.skipReasons(params.Reason)}
	list.Previous, list.Next = pageLinks(list.Path+"/skipped", asked, params.Page, !page.Last())
	return s.renderPage(w, v, view{template: "skipped", title: fmt.Sprintf("%s: %s", s.texts.mustFormat("skipped"), st.RepoName), data: list})
}

// skipReasons returns the choices of the filter.
func (s *Server) skipReasons(chosen string) []choice {
	choices := []choice{{Value: "", Label: s.texts.mustFormat("skipped_any")}}
	for _, reason := range code.SkipReasons {
		choices = append(choices, choice{Value: string(reason), Label: string(reason)})
	}
	for _, reason := range code.PartialReasons {
		choices = append(choices, choice{Value: string(reason), Label: string(reason)})
	}
	return markChosen(chosen, choices...)
}

// BrowseURL returns the page of a skipped file; templates call it.
func (p *skippedPage) BrowseURL(path string) string {
	return source.Address{Repository: p.Repository.RepoName, Revision: p.Ref, Kind: source.PageBlob, Path: path}.String()
}

// BrowseURL returns the root of the repository at a ref; templates call it.
func (p *repositoryPage) BrowseURL(ref string) string {
	return source.Address{Repository: p.RepoName, Revision: shortRef(ref), Kind: source.PageTree}.String()
}

// shortRef returns the short name of a branch or tag; templates call it.
func shortRef(ref string) string { return code.Ref(ref).Short() }

// DeliveriesURL returns the list of the repository's deliveries; templates call it.
func (p *repositoryPage) DeliveriesURL() string {
	return "/deliveries?" + url.Values{"repository": {p.RepoName}}.Encode()
}
