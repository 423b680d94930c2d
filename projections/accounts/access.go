package accounts

import (
	"slices"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/event"
)

// accessChanged applies a decision. It ignores members that do not exist, for instance
// because they were just removed.
func (c *change) accessChanged(e *event.AccessChanged) (Refusal, error) {
	members := make([]account.UserID, 0, len(e.Members))
	for _, id := range e.Members {
		if c.s.users[id] != nil {
			members = append(members, id)
		}
	}
	slices.Sort(members)
	members = slices.Clip(slices.Compact(members))
	was := c.s.access[e.ID]
	had := 0
	if was != nil {
		had = len(was.Members)
	}
	switch {
	case was == nil && e.Visibility == "" && len(members) == 0:
		return Unchanged, nil
	case was != nil && was.Visibility == e.Visibility && slices.Equal(was.Members, members):
		return Unchanged, nil
	case was == nil && len(c.s.access) >= MaxDecisions, c.s.memberships-had+len(members) > MaxMemberships:
		return TooMany, nil
	}
	return "", c.setAccess(e.ID, e.Visibility, members)
}

// dropMember removes a user from all decisions.
func (c *change) dropMember(user account.UserID) error {
	for id, a := range c.s.access {
		i, found := slices.BinarySearch(a.Members, user)
		if !found {
			continue
		}
		members := slices.Delete(slices.Clone(a.Members), i, i+1)
		if err := c.setAccess(id, a.Visibility, members); err != nil {
			return err
		}
	}
	return nil
}
