package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/schemas/code"
)

var _ discovery.MemberReader = (*lister)(nil)

// codeUnit is the repository unit that contains the files.
const codeUnit = "repo.code"

// user is a user, collaborator or member in the API of Gitea.
type user struct {
	ID int64 `json:"id"`
}

// team is a team with access to a repository, in the API of Gitea.
type team struct {
	ID         int64             `json:"id"`
	Permission string            `json:"permission"`
	Units      []string          `json:"units"`
	UnitsMap   map[string]string `json:"units_map"` // absent in old versions
}

// readsCode reports whether members of the team may read the files of its repositories. A
// team may have access to issues only.
func (t *team) readsCode() bool {
	if t.Permission == "owner" || t.Permission == "admin" {
		return true
	}
	permission := t.Permission
	if t.UnitsMap != nil {
		permission = t.UnitsMap[codeUnit]
	} else if !slices.Contains(t.Units, codeUnit) {
		return false
	}
	return slices.Contains([]string{"read", "write", "admin", "owner"}, permission)
}

// ReadMembers implements discovery.MemberReader. It returns the owner, the collaborators
// and the members of teams, and for an internal repository, which belongs to a private
// organization, all members of the organization. Administrators of the instance may read
// everything in Gitea, but only administrators can list them, so they are granted
// nothing.
func (g *lister) ReadMembers(ctx context.Context, r code.Repository) (discovery.Members, error) {
	parts, ok := discovery.SplitTarget(r.DisplayName, 2)
	if !ok {
		return discovery.Members{}, hostapi.NewError(hostapi.Rejected, fmt.Sprintf("%.80q is not owner/name", r.DisplayName))
	}
	var set discovery.MemberSet
	path := "repos/" + url.PathEscape(parts[0]) + "/" + url.PathEscape(parts[1])
	if err := g.addUsers(ctx, &set, path+"/collaborators"); err != nil {
		return discovery.Members{}, err
	}
	owned, err := g.addTeams(ctx, &set, path+"/teams")
	if err != nil {
		return discovery.Members{}, err
	}
	// The lists are read by name, so the ID for that name is checked afterwards.
	var found repository
	if err := g.api.Get(ctx, path, nil, &found); err != nil {
		return discovery.Members{}, err
	}
	switch {
	case found.ID <= 0 || g.convertRepository(&found).ID != r.ID:
		return discovery.Members{}, discovery.NewOtherRepositoryError(r)
	case found.HasCode != nil && !*found.HasCode:
		return discovery.Members{}, nil // its code unit is disabled
	case !owned:
		set.Add(strconv.FormatInt(found.Owner.ID, 10), "")
	case found.Internal:
		if err := g.addUsers(ctx, &set, "orgs/"+url.PathEscape(parts[0])+"/members"); err != nil {
			return discovery.Members{}, err
		}
	}
	return set.Members()
}

// addTeams adds the members of the teams that may read the files of a repository. It
// reports whether the repository belongs to an organization: Gitea answers the list of
// teams with 405 if it belongs to a user.
func (g *lister) addTeams(ctx context.Context, set *discovery.MemberSet, path string) (owned bool, err error) {
	var teams []team
	err = g.api.Get(ctx, path, nil, &teams) // Gitea sends the list as one page
	if e, ok := errors.AsType[*hostapi.Error](err); ok && e.Status == http.StatusMethodNotAllowed {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for i := range teams {
		if teams[i].ID <= 0 || !teams[i].readsCode() {
			continue
		}
		if err := g.addUsers(ctx, set, "teams/"+strconv.FormatInt(teams[i].ID, 10)+"/members"); err != nil {
			return true, err
		}
	}
	return true, nil
}

// addUsers adds the users of a list, which ends with an empty page. The placeholder for
// deleted users has a negative ID.
func (g *lister) addUsers(ctx context.Context, set *discovery.MemberSet, path string) error {
	for number := 1; ; number++ {
		var page []user
		err := g.api.Get(ctx, path, url.Values{"page": {strconv.Itoa(number)}, "limit": {strconv.Itoa(pageSize)}}, &page)
		if err != nil {
			return err
		}
		for _, u := range page {
			if u.ID > 0 {
				set.Add(strconv.FormatInt(u.ID, 10), "")
			}
		}
		if len(page) == 0 {
			return nil
		}
	}
}
