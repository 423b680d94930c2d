package auth

import (
	"context"
	"slices"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Access is who may see a repository.
type Access struct {
	// Effective is what counts now; Decided is an owner's decision, empty where the
	// code host's word or the configured default counts.
	Effective, Decided account.Visibility
	// Members may see the repository while it is private, in order.
	Members []account.UserID
}

// Access returns who may see r.
func (s *Service) Access(p *Principal, r *code.Repository) (Access, error) {
	if err := needOwner(p); err != nil {
		return Access{}, err
	}
	a := s.o.Directory.Access()[r.ID]
	out := Access{Effective: visibilityOf(r, a, s.o.DefaultVisibility)}
	if a != nil {
		out.Decided, out.Members = a.Visibility, a.Members
	}
	return out, nil
}

// SetAccess decides who may see r, wholly: no visibility and no members take the
// decision back.
func (s *Service) SetAccess(ctx context.Context, p *Principal, r *code.Repository, v account.Visibility, members []account.UserID) (Access, error) {
	if err := needOwner(p); err != nil {
		return Access{}, err
	}
	if v != "" && !v.Valid() {
		return Access{}, invalidField("visibility", "want public, internal, private or null")
	}
	members = slices.Clone(members)
	slices.Sort(members)
	members = slices.Compact(members)
	if len(members) > event.MaxMembers {
		return Access{}, invalidField("members", "want at most %d", event.MaxMembers)
	}
	for _, id := range members {
		if _, err := s.findUser(id); err != nil {
			return Access{}, err
		}
	}
	ev := &event.AccessChanged{ID: r.ID, Visibility: v, Members: members, By: p.Actor, At: s.nowUTC()}
	if err := s.appendChange(ctx, ev); err != nil {
		return Access{}, err
	}
	return s.Access(p, r)
}
