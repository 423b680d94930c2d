package auth

import (
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// maxVisibilities bounds the Visible values cached for one state of the decisions. Beyond
// it all are dropped, and lists cached by them are rebuilt.
const maxVisibilities = 1024

// accessState holds everything that decides who may read which repository, at one moment.
type accessState struct {
	access map[code.RepositoryID]*account.Access // immutable
	hosts  hostState
	// defaultVisibility applies if neither an owner nor the host decides.
	defaultVisibility account.Visibility
}

// readAccess returns the current state.
func (s *Service) readAccess() accessState {
	return accessState{access: s.o.Directory.Access(), hosts: s.readHosts(), defaultVisibility: s.o.DefaultVisibility}
}

// visibilityCache caches the Visible values of one state.
type visibilityCache struct {
	mu struct {
		sync.RWMutex
		// state is the state that the other fields were derived from. Its references keep
		// the addresses from being reused for another state.
		state accessState
		// until is when the permissions of a code host become too old to grant anything.
		until   time.Time
		named   map[account.UserID]struct{}
		granted hostUsers
		known   map[visibilityKey]Visible
	}
}

// visibilityKey is the same for principals that see the same repositories.
type visibilityKey struct {
	role account.Role
	user account.UserID // empty if no decision names the user
	// host holds the user's names at code hosts; empty if they may read nothing there.
	host string
	// credential is empty for unrestricted credentials.
	credential string
}

// Visible returns which repositories exist for p, by the current decisions and the
// current permissions of code hosts. It is the same value for all callers that see the
// same repositories, until one of the inputs changes.
func (s *Service) Visible(p *Principal) Visible {
	if p.Repositories == nil && p.Role == account.RoleOwner {
		return Visible{}
	}
	state, joined := s.readAccess(), joinedUser{}
	if user, found := s.o.Directory.User(p.Actor.User); found {
		joined = state.hosts.joinUser(user)
	}
	return s.visibilities.visibleTo(p, joined, state)
}

func (s *visibilityCache) visibleTo(p *Principal, joined joinedUser, state accessState) Visible {
	s.mu.RLock()
	current := s.isCurrentLocked(&state)
	v, found := s.mu.known[s.keyLocked(p, joined)]
	s.mu.RUnlock()
	if current && found {
		return v
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isCurrentLocked(&state) {
		s.mu.state, s.mu.named, s.mu.known = state, membersOf(state.access), map[visibilityKey]Visible{}
		s.mu.granted, s.mu.until = state.hosts.summarize()
	}
	if len(s.mu.known) >= maxVisibilities {
		s.mu.known = map[visibilityKey]Visible{}
	}
	key := s.keyLocked(p, joined)
	if v, found = s.mu.known[key]; !found {
		v = Only((&visibility{p: p, joined: joined, accessState: s.mu.state}).canSee)
		s.mu.known[key] = v
	}
	return v
}

func (s *visibilityCache) isCurrentLocked(state *accessState) bool {
	clockSetBack := state.hosts.now.Before(s.mu.state.hosts.now.Add(-maxClockAhead))
	return s.mu.known != nil && isSameMap(s.mu.state.access, state.access) && s.mu.state.hosts.isSame(&state.hosts) && state.hosts.now.Before(s.mu.until) && !clockSetBack
}

// isSameMap reports whether a and b are the same map.
func isSameMap(a, b any) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() }

func (s *visibilityCache) keyLocked(p *Principal, joined joinedUser) visibilityKey {
	k := visibilityKey{role: p.Role, host: s.mu.granted.formatGranted(joined)}
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

// visibility decides which repositories a principal may read, in one state.
type visibility struct {
	accessState
	p      *Principal
	joined joinedUser
}

// canSee reports whether the principal may read r; Visible calls it.
func (v *visibility) canSee(r *code.Repository) bool {
	sees, _ := v.explain(r)
	return sees
}

// explain reports whether the principal may read r, and by which rule. The credential's
// restriction comes first: it only removes repositories, never adds any.
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
		switch {
		case v.p.Role != account.RoleMember:
			return false, AccessNotMember
		case access != nil && slices.Contains(access.Members, v.p.Actor.User):
			return true, AccessMember
		case access == nil || access.Visibility == "": // host permissions apply only without an owner's decision
			return v.hosts.explain(r, v.joined)
		}
	}
	return false, AccessNotMember
}

// Visibility returns the current visibility of r.
func (s *Service) Visibility(r *code.Repository) account.Visibility {
	return visibilityOf(r, s.o.Directory.Access()[r.ID], s.o.DefaultVisibility)
}

// visibilityOf returns the owner's decision, else the code host's setting, else unsaid,
// the default.
func visibilityOf(r *code.Repository, access *account.Access, unsaid account.Visibility) account.Visibility {
	switch {
	case access != nil && access.Visibility != "":
		return access.Visibility
	case r.Private:
		return account.Private
	}
	return unsaid
}
