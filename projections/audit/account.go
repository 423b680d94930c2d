package audit

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/event"
)

// accountEntries returns the entries of an account event: one, or none if the event has
// no actor.
func accountEntries(ev event.Event, refused string) []entryRow {
	e := entryRow{Refused: refused}
	switch ev := ev.(type) {
	case *event.UserCreated:
		e.Record = userCreated(ev)
	case *event.UserChanged:
		e.Record = userChanged(ev)
	case *event.UserRemoved:
		e.Record = userRemoved(ev)
	case *event.InvitationCreated:
		e.Record = newRecord(audit.InvitesCreated, ev.By, ev.At, audit.TargetInvitation, string(ev.Invitation),
			"emails", ev.Email, "role", string(ev.Role), "expiresAt", formatTime(ev.ExpiresAt))
	case *event.InvitationRevoked:
		e.Record = newRecord(audit.InviteRevoked, ev.By, ev.At, audit.TargetInvitation, string(ev.Invitation))
	case *event.AccessChanged:
		e.Record = accessChanged(ev)
	case *event.SavedSearchChanged:
		e.Record = savedSearchChanged(ev)
	default:
		if e.Record = credentialRecord(ev); e.Action == "" {
			return nil
		}
	}
	return []entryRow{e}
}

// credentialRecord returns the record of a session, key or token event, and the zero
// record for any other event.
func credentialRecord(ev event.Event) audit.Record {
	switch ev := ev.(type) {
	case *event.SessionStarted:
		return sessionStarted(ev)
	case *event.SessionEnded:
		r := newRecord(audit.SignedOut, ev.By, ev.At, audit.TargetSession, string(ev.Session), "user", string(ev.User))
		if ev.Session == "" {
			r.TargetType, r.Target = audit.TargetUser, string(ev.User)
			r.Metadata = map[string]string{"sessions": "all"}
		}
		return r
	case *event.KeyCreated:
		return keyCreated(ev)
	case *event.KeyDeleted:
		return newRecord(audit.KeyDeleted, ev.By, ev.At, audit.TargetKey, string(ev.ID), "user", string(ev.User))
	case *event.TokenMinted:
		return newRecord(audit.TokenMinted, ev.By, ev.At, audit.TargetToken, string(ev.Token), "key", string(ev.MintedBy),
			"user", string(ev.User), "repositories", strconv.Itoa(len(ev.Repositories)), "expiresAt", formatTime(ev.ExpiresAt))
	case *event.TokenRevoked:
		return newRecord(audit.TokenRevoked, ev.By, ev.At, audit.TargetToken, string(ev.Token))
	}
	return audit.Record{}
}

// newRecord returns a record. metadata holds alternating names and values; empty values
// are omitted.
func newRecord(action audit.Action, by account.Actor, at time.Time, kind audit.TargetType, target string, metadata ...string) audit.Record {
	r := audit.Record{At: at, Action: action, Actor: by, TargetType: kind, Target: target}
	for i := 0; i < len(metadata); i += 2 {
		if metadata[i+1] == "" {
			continue
		}
		if r.Metadata == nil {
			r.Metadata = map[string]string{}
		}
		r.Metadata[metadata[i]] = metadata[i+1]
	}
	return r
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func userCreated(ev *event.UserCreated) audit.Record {
	action := audit.MemberAdded
	switch {
	case ev.FirstOwner:
		action = audit.OwnerCreated
	case ev.State == account.StatePending:
		action = audit.JoinRequested
	case ev.Invitation != "":
		action = audit.InviteAccepted
	}
	issuer := ""
	if ev.Identity != nil {
		issuer = ev.Identity.Issuer
	}
	return newRecord(action, ev.By, ev.At, audit.TargetUser, string(ev.User), "emails", ev.Email, "name", ev.Name,
		"role", string(ev.Role), "invitation", string(ev.Invitation), "issuer", truncateText(issuer))
}

// truncateText truncates a text that events allow to be longer than the bound of
// metadata.
func truncateText(s string) string {
	if len(s) <= audit.MaxMetadataBytes {
		return s
	}
	return strings.ToValidUTF8(s[:audit.MaxMetadataBytes], "")
}

func userChanged(ev *event.UserChanged) audit.Record {
	r := newRecord("", ev.By, ev.At, audit.TargetUser, string(ev.User))
	switch ev.Change {
	case event.UserApproved:
		r.Action = audit.JoinApproved
	case event.UserSuspended:
		r.Action = audit.MemberDeactivated
	case event.UserReinstated:
		r.Action = audit.MemberReactivated
	case event.UserRoleChanged:
		r.Action = audit.OwnerDemoted
		if ev.Role == account.RoleOwner {
			r.Action = audit.MemberPromoted
		}
	case event.UserRenamed:
		r.Action, r.Metadata = audit.UserRenamed, map[string]string{"name": ev.Name}
	case event.UserPasswordChanged:
		r.Action = audit.UserPasswordChanged
	case event.UserPasswordRehash:
		r.Action = audit.UserPasswordRehashed
	case event.UserIdentityLinked:
		r.Action, r.Metadata = audit.UserIdentityLinked, map[string]string{"issuer": truncateText(ev.Identity.Issuer)}
	}
	return r
}

// userRemoved distinguishes users who left from users who were removed.
func userRemoved(ev *event.UserRemoved) audit.Record {
	action := audit.MemberRemoved
	if ev.By.User == ev.User {
		action = audit.MemberLeft
	}
	return newRecord(action, ev.By, ev.At, audit.TargetUser, string(ev.User))
}

func sessionStarted(ev *event.SessionStarted) audit.Record {
	action := audit.SignedIn
	if ev.Replaces != "" {
		action = audit.SessionRotated
	}
	return newRecord(action, ev.By, ev.At, audit.TargetUser, string(ev.User), "session", string(ev.Session), "method", ev.Method,
		"replaces", string(ev.Replaces), "expiresAt", formatTime(ev.ExpiresAt))
}

func keyCreated(ev *event.KeyCreated) audit.Record {
	all := ev.AllScopes()
	scopes := make([]string, len(all))
	for i, s := range all {
		scopes[i] = string(s)
	}
	repositories := ""
	if len(ev.Repositories) > 0 {
		repositories = strconv.Itoa(len(ev.Repositories))
	}
	return newRecord(audit.KeyCreated, ev.By, ev.At, audit.TargetKey, string(ev.ID), "api_key", ev.Name, "prefix", cmp.Or(ev.ShownPrefix, ev.Prefix),
		"user", string(ev.User), "scopes", strings.Join(scopes, ","), "repositories", repositories, "expiresAt", formatTime(ev.ExpiresAt))
}

func accessChanged(ev *event.AccessChanged) audit.Record {
	visibility, members := string(ev.Visibility), make([]string, len(ev.Members))
	for i, id := range ev.Members {
		members[i] = string(id)
	}
	if visibility == "" {
		visibility = "as the code host says"
	}
	return newRecord(audit.AccessChanged, ev.By, ev.At, audit.TargetRepository, ev.ID.String(), "visibility", visibility,
		"members", truncateText(strings.Join(members, ",")), "memberCount", strconv.Itoa(len(members)))
}

// savedSearchChanged omits the text of the query, because it is private to the user.
func savedSearchChanged(ev *event.SavedSearchChanged) audit.Record {
	action, shared := audit.SavedSearchDeleted, ""
	switch ev.Change {
	case event.SavedSearchCreated:
		action, shared = audit.SavedSearchCreated, strconv.FormatBool(ev.Shared)
	case event.SavedSearchReplaced:
		action, shared = audit.SavedSearchChanged, strconv.FormatBool(ev.Shared)
	}
	return newRecord(action, ev.By, ev.At, audit.TargetUser, string(ev.User), "search", string(ev.Search), "name", ev.Name, "shared", shared)
}
