package bitbucketserver

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/hostapi"
	"github.com/quarrysearch/quarry/schemas/code"
)

var _ discovery.MemberReader = (*lister)(nil)

// user is a user in the API of Bitbucket.
type user struct {
	ID     int64 `json:"id"`
	Active bool  `json:"active"`
}

// grant is a permission of a user or a group.
type grant struct {
	Permission string `json:"permission"`
	User       user   `json:"user"`
	Group      struct {
		Name string `json:"name"`
	} `json:"group"`
}

// readPermissions are the permissions that allow a user to read the files of a
// repository.
var readPermissions = []string{"REPO_READ", "REPO_WRITE", "REPO_ADMIN", "PROJECT_READ", "PROJECT_WRITE", "PROJECT_ADMIN"}

// ReadMembers implements discovery.MemberReader. It returns the users, and the members of
// groups, with a permission on the repository or its project, and the owner of a personal
// project. It omits users who may read through a permission for everyone, such as the
// default permission of the project, and administrators of the instance.
func (b *lister) ReadMembers(ctx context.Context, r code.Repository) (discovery.Members, error) {
	parts, ok := discovery.SplitTarget(r.DisplayName, 2)
	if !ok {
		return discovery.Members{}, hostapi.NewError(hostapi.Rejected, fmt.Sprintf("%.80q is not KEY/slug", r.DisplayName))
	}
	project := "projects/" + url.PathEscape(parts[0])
	path := project + "/repos/" + url.PathEscape(parts[1])
	var set discovery.MemberSet
	groups := map[string]struct{}{}
	for _, list := range []string{path, project} {
		if err := b.addGrants(ctx, &set, groups, list+"/permissions/users"); err != nil {
			return discovery.Members{}, err
		}
		if err := b.addGrants(ctx, &set, groups, list+"/permissions/groups"); err != nil {
			return discovery.Members{}, err
		}
	}
	for name := range groups {
		if err := b.addGroup(ctx, &set, name); err != nil {
			return discovery.Members{}, err
		}
	}
	if strings.HasPrefix(parts[0], "~") {
		if err := b.addOwner(ctx, &set, project); err != nil {
			return discovery.Members{}, err
		}
	}
	// The lists are read by name, so the ID for that name is checked afterwards.
	var found repository
	if err := b.api.Get(ctx, path, nil, &found); err != nil {
		return discovery.Members{}, err
	}
	if found.ID <= 0 || b.convertRepository(&found).ID != r.ID {
		return discovery.Members{}, discovery.NewOtherRepositoryError(r)
	}
	return set.Members()
}

// addGrants adds the users of a list of permissions and collects its groups.
func (b *lister) addGrants(ctx context.Context, set *discovery.MemberSet, groups map[string]struct{}, path string) error {
	return eachPage(ctx, b, path, nil, func(g *grant) bool {
		if !slices.Contains(readPermissions, g.Permission) {
			return true
		}
		addUser(set, &g.User)
		if g.Group.Name != "" {
			groups[g.Group.Name] = struct{}{}
		}
		return true
	})
}

func (b *lister) addGroup(ctx context.Context, set *discovery.MemberSet, name string) error {
	return eachPage(ctx, b, "admin/groups/more-members", url.Values{"context": {name}}, func(u *user) bool {
		addUser(set, u)
		return true
	})
}

// addOwner adds the owner of a personal project, who needs no permission.
func (b *lister) addOwner(ctx context.Context, set *discovery.MemberSet, project string) error {
	var found struct {
		Owner user `json:"owner"`
	}
	if err := b.api.Get(ctx, project, nil, &found); err != nil {
		return err
	}
	addUser(set, &found.Owner)
	return nil
}

func addUser(set *discovery.MemberSet, u *user) {
	if u.ID > 0 && u.Active {
		set.Add(strconv.FormatInt(u.ID, 10), "")
	}
}
