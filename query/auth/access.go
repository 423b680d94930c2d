package auth

import (
	"context"
	"slices"
	"time"

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

// AccessReason is the rule by which a user may read a repository, or may not.
type AccessReason string

// The reasons.
const (
	AccessByRole    AccessReason = "owner"      // an owner reads every repository
	AccessPublic    AccessReason = "public"     // everybody reads a public one
	AccessInternal  AccessReason = "internal"   // every user reads an internal one
	AccessMember    AccessReason = "member"     // it is private, and the user is a member
	AccessNotMember AccessReason = "not_member" // it is private, and the user is none
	AccessInactive  AccessReason = "not_active" // the user waits for approval, or is suspended
	// It is private, and the permissions of its code host are read.
	AccessByHost     AccessReason = "host_member" // the host lets the user read it
	AccessHostStale  AccessReason = "host_stale"  // it did when it was read, which is too long ago
	AccessNotJoined  AccessReason = "not_joined"  // the user's ID at the host is not known
	AccessNotRead    AccessReason = "not_read"    // the host was not read yet
	accessRestricted AccessReason = "restricted"  // the credential is for other repositories; no user has one
)

// AccessSource is what decides the visibility of a repository.
type AccessSource string

// The sources, in the order in which they count.
const (
	SourceDecision AccessSource = "decision" // of an owner
	SourceHost     AccessSource = "host"     // the code host says that it is private
	SourceDefault  AccessSource = "default"  // access.defaultVisibility
)

// AccessExplanation says whether a user may read a repository, and why. It is what a
// session or an API key without restrictions of that user gets.
type AccessExplanation struct {
	Readable   bool
	Reason     AccessReason
	Visibility account.Visibility
	Source     AccessSource
	// Host is the last reading of its code host; nil where that does not count.
	Host *HostReading
}

// HostReading says when the permissions of a repository were read from its code host.
type HostReading struct {
	Connection string
	// ReadAt is zero if they were never read. They count until ExpiresAt.
	ReadAt, ExpiresAt time.Time
}

// ExplainAccess explains to an owner whether a user may read r, by the rules that every
// request of the user passes.
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
