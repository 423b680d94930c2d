package gitlab

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/schemas/code"
)

var _ discovery.MemberReader = (*lister)(nil)

// minReadLevel is the level of a Reporter, the lowest that may read the files of a
// private project. A guest with a custom role that may read them is granted nothing.
const minReadLevel = 20

// member is a member of a project in the API of GitLab.
type member struct {
	ID    int64  `json:"id"`
	State string `json:"state"`
	Level int    `json:"access_level"`
	// Membership is "awaiting" for a user who must be approved by an administrator.
	Membership string `json:"membership_state"`
}

// user is a user in the API of GitLab. Only administrators receive the email address and
// whether it is confirmed.
type user struct {
	ID          int64      `json:"id"`
	Email       string     `json:"email"`
	ConfirmedAt *time.Time `json:"confirmed_at"`
}

// ReadMembers implements discovery.MemberReader. The members of a project are its direct
// members, and those of its parent groups and of invited groups.
func (g *lister) ReadMembers(ctx context.Context, r code.Repository) (discovery.Members, error) {
	var p project
	if err := g.api.Get(ctx, "projects/"+url.PathEscape(r.DisplayName), nil, &p); err != nil {
		return discovery.Members{}, err
	}
	// Another project may have taken the path; the members are read by ID.
	if p.ID <= 0 || g.convertProject(&p).ID != r.ID {
		return discovery.Members{}, discovery.NewOtherRepositoryError(r)
	}
	var set discovery.MemberSet
	if p.Access == "disabled" {
		return set.Members()
	}
	path := "projects/" + strconv.FormatInt(p.ID, 10) + "/members/all"
	query := url.Values{"per_page": {strconv.Itoa(pageSize)}}
	for number := 1; ; number++ {
		query.Set("page", strconv.Itoa(number))
		var page []member
		if err := g.api.Get(ctx, path, query, &page); err != nil {
			return discovery.Members{}, err
		}
		for i := range page {
			if err := g.addMember(ctx, &set, &page[i]); err != nil {
				return discovery.Members{}, err
			}
		}
		if len(page) < pageSize {
			return set.Members()
		}
	}
}

func (g *lister) addMember(ctx context.Context, set *discovery.MemberSet, m *member) error {
	if m.ID <= 0 || m.State != "active" || m.Level < minReadLevel || m.Membership != "" && m.Membership != "active" {
		return nil
	}
	id := strconv.FormatInt(m.ID, 10)
	if !g.c.ReadEmails {
		set.Add(id, "")
		return nil
	}
	email, err := g.readAddress(ctx, m.ID)
	if err != nil {
		return err
	}
	set.Add(id, email)
	return nil
}

// Bounds of the cached addresses: users are members of many projects.
const (
	maxAddresses = 100_000
	addressAge   = time.Hour
)

// address is the email address of a user at a time, empty unless GitLab has verified it.
type address struct {
	email string
	at    time.Time
}

// readAddress returns the verified email address of a user, or an empty string. It caches
// addresses for addressAge.
func (g *lister) readAddress(ctx context.Context, id int64) (string, error) {
	now := time.Now()
	if known, ok := g.addresses[id]; ok && now.Sub(known.at) < addressAge {
		return known.email, nil
	}
	var u user
	if err := g.api.Get(ctx, "users/"+strconv.FormatInt(id, 10), nil, &u); err != nil {
		return "", err
	}
	email := ""
	if u.ID == id && u.ConfirmedAt != nil {
		email = u.Email
	}
	if g.addresses == nil || len(g.addresses) >= maxAddresses {
		g.addresses = map[int64]address{}
	}
	g.addresses[id] = address{email, now}
	return email, nil
}
