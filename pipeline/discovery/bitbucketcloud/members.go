package bitbucketcloud

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/schemas/code"
)

var _ discovery.MemberReader = (*lister)(nil)

// permission is the highest permission of a user on a repository: direct, through groups,
// the project or the workspace.
type permission struct {
	Permission string `json:"permission"`
	User       struct {
		Type      string `json:"type"`
		AccountID string `json:"account_id"`
	} `json:"user"`
}

// ReadMembers implements discovery.MemberReader. It reads the list of effective
// permissions of each user, which only administrators of the repository may read.
func (b *lister) ReadMembers(ctx context.Context, r code.Repository) (discovery.Members, error) {
	parts := strings.Split(r.DisplayName, "/") // workspace, project key if any, slug
	if len(parts) < 2 || len(parts) > 3 {
		return discovery.Members{}, hostapi.NewError(hostapi.Rejected, fmt.Sprintf("%.80q is not workspace/KEY/slug", r.DisplayName))
	}
	workspace, slug := url.PathEscape(parts[0]), url.PathEscape(parts[len(parts)-1])
	var found repository
	if err := b.api.Get(ctx, "repositories/"+workspace+"/"+slug, nil, &found); err != nil {
		return discovery.Members{}, err
	}
	// Another repository may have taken the name; the permissions are read by UUID.
	if found.UUID == "" || b.convertRepository(&found).ID != r.ID {
		return discovery.Members{}, discovery.NewOtherRepositoryError(r)
	}
	var set discovery.MemberSet
	query := url.Values{"pagelen": {strconv.Itoa(pageSize)}}
	next := b.api.Base + "workspaces/" + workspace + "/permissions/repositories/" + url.PathEscape(found.UUID) + "?" + query.Encode()
	for next != "" {
		var page struct {
			Values *[]permission `json:"values"`
			Next   string        `json:"next"`
		}
		if err := b.api.DoURL(ctx, http.MethodGet, next, nil, &page); err != nil {
			return discovery.Members{}, err
		}
		if page.Values == nil {
			return discovery.Members{}, hostapi.NewError(hostapi.HostFailed, "the list of permissions has no values")
		}
		for i := range *page.Values {
			if err := addUser(&set, &(*page.Values)[i]); err != nil {
				return discovery.Members{}, err
			}
		}
		next = page.Next
	}
	return set.Members()
}

// addUser adds a user who may read the repository. A user without an account ID makes the
// list incomplete.
func addUser(set *discovery.MemberSet, p *permission) error {
	if p.User.Type != "user" || !slices.Contains([]string{"read", "write", "admin"}, p.Permission) {
		return nil
	}
	if p.User.AccountID == "" {
		return hostapi.NewError(hostapi.HostFailed, "a user of the repository has no account_id")
	}
	set.Add(p.User.AccountID, "")
	return nil
}
