package github

import (
	"context"
	"fmt"
	"strconv"

	"github.com/google/go-github/v92/github"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/schemas/code"
)

var _ discovery.MemberReader = (*lister)(nil)

// ReadMembers implements discovery.MemberReader. GitHub's list of collaborators contains
// everyone who may read: direct and outside collaborators, members of teams and child
// teams, members of the organization through its base permission, and its owners. GitHub
// reports no verified email addresses.
func (g *lister) ReadMembers(ctx context.Context, r code.Repository) (discovery.Members, error) {
	parts, ok := discovery.SplitTarget(r.DisplayName, 2)
	if !ok {
		return discovery.Members{}, hostapi.NewError(hostapi.Rejected, fmt.Sprintf("%.80q is not owner/name", r.DisplayName))
	}
	var set discovery.MemberSet
	for page := 1; page != 0; {
		users, resp, err := g.client.Repositories.ListCollaborators(ctx, parts[0], parts[1], &github.ListCollaboratorsOptions{
			Affiliation: "all", ListOptions: github.ListOptions{Page: page, PerPage: pageSize},
		})
		if err != nil {
			return discovery.Members{}, err
		}
		for _, u := range users {
			if u.GetID() > 0 && u.GetPermissions().GetPull() {
				set.Add(strconv.FormatInt(u.GetID(), 10), "")
			}
		}
		page = resp.NextPage
	}
	// The list is read by name, so the ID for that name is checked afterwards: if the
	// repository was renamed and its old name is reused, the collaborators of the other
	// repository must not be granted access.
	found, _, err := g.client.Repositories.Get(ctx, parts[0], parts[1])
	if err != nil {
		return discovery.Members{}, err
	}
	if found.GetID() <= 0 || g.convertRepository(found).ID != r.ID {
		return discovery.Members{}, discovery.NewOtherRepositoryError(r)
	}
	return set.Members()
}
