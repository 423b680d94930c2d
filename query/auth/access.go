package auth

import (
	"context"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Access describes who may see a repository.
type Access struct {
	// Effective is the current visibility. Decided is an owner's decision, empty if the
	// code host's setting or the configured default applies.
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

// SetAccess replaces the decision on who may see r. No visibility and no members remove
// the decision.
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

// AccessReason is the rule that lets a user read a repository, or keeps the user from it.
type AccessReason string

// The reasons.
const (
	AccessByRole    AccessReason = "owner"      // an owner reads every repository
	AccessPublic    AccessReason = "public"     // every caller reads a public repository
	AccessInternal  AccessReason = "internal"   // every user reads an internal repository
	AccessMember    AccessReason = "member"     // it is private, and the user is a member
	AccessNotMember AccessReason = "not_member" // it is private, and the user is not a member
	AccessInactive  AccessReason = "not_active" // the user is waiting for approval, or is suspended
	// The repository is private, and the permissions of its code host are read.
	AccessByHost     AccessReason = "host_member" // the host lets the user read it
	AccessHostStale  AccessReason = "host_stale"  // it did when last read, but that reading is too old
	AccessNotJoined  AccessReason = "not_joined"  // the user's ID at the host is unknown
	AccessNotRead    AccessReason = "not_read"    // the host has not been read yet
	accessRestricted AccessReason = "restricted"  // the credential is restricted to other repositories; users have no such restriction
)

// AccessSource is where the visibility of a repository comes from.
type AccessSource string

// The sources, in order of precedence.
const (
	SourceDecision AccessSource = "decision" // an owner's decision
	SourceHost     AccessSource = "host"     // the code host reports it as private
	SourceDefault  AccessSource = "default"  // access.defaultVisibility
)

// AccessExplanation reports whether a user may read a repository, and why. It holds for
// sessions and unrestricted API keys of the user.
type AccessExplanation struct {
	Readable   bool
	Reason     AccessReason
	Visibility account.Visibility
	Source     AccessSource
	// Host is the last reading of its code host; nil if host permissions do not apply.
	Host *HostReading
}

// HostReading is when the permissions of a repository were read from its code host.
type HostReading struct {
	Connection string
	// ReadAt is zero if they were never read. They are valid until ExpiresAt.
	ReadAt, ExpiresAt time.Time
}

// ExplainAccess explains to an owner whether a user may read r. It applies the rules that
// every request of the user is checked against.
func (s *Service) ExplainAccess(p *Principal, r *code.Repository, id account.UserID) (AccessExplanation, error) {
	if err := needOwner(p); err != nil {
		return AccessExplanation{}, err
	}
	user, err := s.findUser(id)
	if err != nil {
		return AccessExplanation{}, err
	}
	state := s.readAccess()
	decisions := state.access
	out := AccessExplanation{Visibility: visibilityOf(r, decisions[r.ID], s.o.DefaultVisibility), Source: SourceDefault}
	switch a := decisions[r.ID]; {
	case a != nil && a.Visibility != "":
		out.Source = SourceDecision
	case r.Private:
		out.Source = SourceHost
	}
	if out.Source == SourceHost {
		out.Host = state.hosts.findReading(r)
	}
	if !user.Active() {
		out.Reason = AccessInactive
		return out, nil
	}
	asUser := &Principal{Actor: account.Actor{Kind: account.ActorUser, User: id}, Role: user.Role}
	v := visibility{accessState: state, p: asUser, joined: state.hosts.joinUser(user)}
	out.Readable, out.Reason = v.explain(r)
	return out, nil
}
