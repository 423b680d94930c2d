package auth

import (
	"reflect"
	"slices"
	"sync"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// maxVisibilities bounds the Visible values that are kept for one state of the
// decisions. Beyond it all are forgotten, and lists that were made for them are
// made again.
const maxVisibilities = 1024

// visibilityCache keeps the Visible values of one state of the decisions.
type visibilityCache struct {
	mu struct {
		sync.RWMutex
		// access is the state that the other fields were derived from. The
		// reference keeps its address from being reused for another state.
		access map[code.RepositoryID]*account.Access
		named  map[account.UserID]struct{}
		known  map[visibilityKey]Visible
	}
}

// visibilityKey is what two principals share who see the same.
type visibilityKey struct {
	role account.Role
	user account.UserID // empty where no decision names the user
	// credential is empty for those without a restriction.
	credential string
}

// Visible returns which repositories exist for p, by the decisions as they are
// now. It is the same value for all who see the same, until a decision changes.
func (s *Service) Visible(p *Principal) Visible {
	if p.Repositories == nil && p.Role == account.RoleOwner {
		return Visible{}
	}
	access := s.o.Directory.Access()
	return s.visibilities.visibleTo(p, access, func(p *Principal) Visible {
		v := &visibility{p: p, access: access, defaultVisibility: s.o.DefaultVisibility}
		return Only(v.canSee)
	})
}

func (s *visibilityCache) visibleTo(p *Principal, access map[code.RepositoryID]*account.Access, make func(*Principal) Visible) Visible {
	s.mu.RLock()
	current := s.isCurrentLocked(access)
	v, found := s.mu.known[s.keyLocked(p)]
	s.mu.RUnlock()
	if current && found {
		return v
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isCurrentLocked(access) {
		s.mu.access, s.mu.named, s.mu.known = access, membersOf(access), map[visibilityKey]Visible{}
	}
	if len(s.mu.known) >= maxVisibilities {
		s.mu.known = map[visibilityKey]Visible{}
	}
	key := s.keyLocked(p)
	if v, found = s.mu.known[key]; !found {
		v = make(p)
		s.mu.known[key] = v
	}
	return v
}

func (s *visibilityCache) isCurrentLocked(access map[code.RepositoryID]*account.Access) bool {
	return s.mu.known != nil && reflect.ValueOf(s.mu.access).Pointer() == reflect.ValueOf(access).Pointer()
}

func (s *visibilityCache) keyLocked(p *Principal) visibilityKey {
	k := visibilityKey{role: p.Role}
	if _, named := s.mu.named[p.Actor.User]; named {
		k.user = p.Actor.User
	}
	if p.Repositories != nil {
		k.user, k.credential = p.Actor.User, string(p.Actor.Kind)+p.Actor.Credential
	}
	return k
}

func membersOf(access map[code.RepositoryID]*account.Access) map[account.UserID]struct{} {
	named := map[account.UserID]struct{}{}
	for _, a := range access {
		for _, id := range a.Members {
			named[id] = struct{}{}
		}
	}
	return named
}

// visibility decides which repositories a principal may read, in one state of the decisions.
type visibility struct {
	p                 *Principal
	access            map[code.RepositoryID]*account.Access // not changed
	defaultVisibility account.Visibility
}

// canSee implements Visible.
func (v *visibility) canSee(r *code.Repository) bool {
	sees, _ := v.explain(r)
	return sees
}

// explain says whether the principal may read r, and by which rule. The credential's
// restriction comes first: it takes away, and never gives.
func (v *visibility) explain(r *code.Repository) (sees bool, why AccessReason) {
	if v.p.Repositories != nil {
		if _, named := v.p.Repositories[r.ID]; !named {
			return false, accessRestricted
		}
	}
	if v.p.Role == account.RoleOwner {
		return true, AccessByRole
	}
	access := v.access[r.ID]
	switch visibilityOf(r, access, v.defaultVisibility) {
	case account.Public:
		return true, AccessPublic
	case account.Internal:
		return v.p.Role == account.RoleMember, AccessInternal
	case account.Private:
		if v.p.Role == account.RoleMember && access != nil && slices.Contains(access.Members, v.p.Actor.User) {
			return true, AccessMember
		}
	}
	return false, AccessNotMember
}

// Visibility returns the visibility of r as it is now.
func (s *Service) Visibility(r *code.Repository) account.Visibility {
	return visibilityOf(r, s.o.Directory.Access()[r.ID], s.o.DefaultVisibility)
}

// visibilityOf returns the owner's decision, else the code host's setting, else
// unsaid, the default.
func visibilityOf(r *code.Repository, access *account.Access, unsaid account.Visibility) account.Visibility {
	switch {
	case access != nil && access.Visibility != "":
		return access.Visibility
	case r.Private:
		return account.Private
	}
	return unsaid
}
