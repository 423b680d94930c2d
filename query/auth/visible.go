package auth

import (
	"slices"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Visible returns which repositories exist for p, by the decisions as they are
// now: what it returns gives the same answers for as long as it is used. It costs
// one small allocation and builds no set; an answer costs a lookup or two.
func (s *Service) Visible(p *Principal) Visible {
	if p.Repositories == nil && p.Role == account.RoleOwner {
		return nil
	}
	v := &sight{p: p, access: s.o.Directory.Access(), unsaid: s.o.DefaultVisibility}
	return v.sees
}

// sight is what a principal may see in one state of the decisions.
type sight struct {
	p      *Principal
	access map[code.RepositoryID]*account.Access // not changed
	unsaid account.Visibility
}

// sees implements Visible. The credential's restriction comes first: it takes
// away, and never gives.
func (v *sight) sees(r *code.Repository) bool {
	if v.p.Repositories != nil {
		if _, named := v.p.Repositories[r.ID]; !named {
			return false
		}
	}
	if v.p.Role == account.RoleOwner {
		return true
	}
	access := v.access[r.ID]
	switch visibilityOf(r, access, v.unsaid) {
	case account.Public:
		return true
	case account.Internal:
		return v.p.Role == account.RoleMember
	case account.Private:
		return v.p.Role == account.RoleMember && access != nil && slices.Contains(access.Members, v.p.Actor.User)
	}
	return false
}

// visibilityOf returns the owner's decision, or else the code host's word, or else
// what holds where nobody has said anything.
func visibilityOf(r *code.Repository, access *account.Access, unsaid account.Visibility) account.Visibility {
	switch {
	case access != nil && access.Visibility != "":
		return access.Visibility
	case r.Private:
		return account.Private
	}
	return unsaid
}
