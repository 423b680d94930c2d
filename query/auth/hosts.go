package auth

import (
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// HostRule configures how the permissions of a connection's code host apply.
type HostRule struct {
	// Host is the prefix of the names of the host's repositories, without a trailing
	// slash. Readings from a previous host of the connection grant nothing.
	Host string
	// MaxAge is the age from which on a reading grants nothing.
	MaxAge time.Duration
	// Issuer is the issuer of identities whose subjects are IDs of the host's users;
	// empty for none.
	Issuer string
	// Emails joins users by e-mail addresses that both the host and an identity provider
	// have verified.
	Emails bool
}

// maxClockAhead is how far clocks may differ. A reading from further in the future was
// made with a wrong clock and grants nothing: it would be valid for too long.
const maxClockAhead = 5 * time.Minute

// counts reports whether a reading is valid now.
func (r *HostRule) counts(readAt, now time.Time) bool {
	return now.Before(readAt.Add(r.MaxAge)) && !readAt.After(now.Add(maxClockAhead))
}

// staleRecheck is how often the state is read again while a reading is too old: a newer
// reading time alone does not change the version of the rows.
const staleRecheck = 5 * time.Second

// hostState holds the permissions of code hosts, and the rules for them, at one moment.
type hostState struct {
	all     map[code.RepositoryID]*account.HostAccess // immutable
	version uint64
	rules   map[string]HostRule // immutable
	now     time.Time
}

// readHosts returns the current state.
func (s *Service) readHosts() hostState {
	h := hostState{rules: s.o.HostRules(), now: s.o.Now().Round(0)} // wall clock, like the reading times
	if len(h.rules) > 0 {
		h.all, h.version = s.o.Directory.HostAccess()
	}
	return h
}

// isSame reports whether h and other grant the same, ignoring the age of readings.
func (h *hostState) isSame(other *hostState) bool {
	return h.version == other.version && isSameMap(h.rules, other.rules)
}

// hostUser is a user of a connection's code host. The name is an ID or an e-mail address,
// which contains an @.
type hostUser struct{ connection, name string }

// hostUsers is the set of users who may read at least one repository.
type hostUsers map[hostUser]struct{}

// joinedUser lists the code host users that belong to a user of this server.
type joinedUser []hostUser

// joinUser returns the code host users that belong to a user, ordered by connection and
// name.
func (h *hostState) joinUser(user *account.User) joinedUser {
	var joined joinedUser
	for connection, rule := range h.rules {
		for _, id := range user.Identities {
			// Skip IDs with an @, which would be mistaken for addresses.
			if rule.Issuer != "" && id.Issuer == rule.Issuer && !strings.Contains(id.Subject, "@") {
				joined = append(joined, hostUser{connection, account.ShortenHostUser(id.Subject)})
			}
		}
		if rule.Emails && user.EmailVerified {
			joined = append(joined, hostUser{connection, user.Email})
		}
	}
	slices.SortFunc(joined, func(a, b hostUser) int {
		return strings.Compare(a.connection+"\x00"+a.name, b.connection+"\x00"+b.name)
	})
	return joined
}

// formatGranted returns the users in joined that may read at least one repository, as one
// string.
func (u hostUsers) formatGranted(joined joinedUser) string {
	var out strings.Builder
	for _, j := range joined {
		if _, granted := u[j]; granted {
			out.WriteString(j.connection + "\x00" + j.name + "\x00")
		}
	}
	return out.String()
}

// summarize returns the users who may read at least one repository, and the time at which
// the next reading becomes too old.
func (h *hostState) summarize() (granted hostUsers, until time.Time) {
	granted, until = hostUsers{}, h.now.Add(100*365*24*time.Hour)
	for _, a := range h.all {
		rule, ok := h.rules[a.Connection]
		if !ok {
			continue
		}
		next := a.ReadAt.Add(rule.MaxAge)
		if !rule.counts(a.ReadAt, h.now) {
			next = h.now.Add(staleRecheck)
		}
		if next.Before(until) {
			until = next
		}
		for _, names := range [][]string{a.Users, a.Emails} {
			for _, name := range names {
				granted[hostUser{a.Connection, name}] = struct{}{}
			}
		}
	}
	return granted, until
}

// findAccess returns the last reading of r, nil if there is none, and whether its host's
// permissions apply.
func (h *hostState) findAccess(r *code.Repository) (rule HostRule, a *account.HostAccess, counts bool) {
	if rule, counts = h.rules[r.Connection]; !counts || r.Connection == "" || !r.Private || !strings.HasPrefix(r.Name, rule.Host+"/") {
		return HostRule{}, nil, false
	}
	if a = h.all[r.ID]; a != nil && a.Connection != r.Connection {
		a = nil // it was read by another connection
	}
	return rule, a, true
}

// findReading returns when r was read, or nil if its host's permissions do not apply.
func (h *hostState) findReading(r *code.Repository) *HostReading {
	rule, a, counts := h.findAccess(r)
	if !counts {
		return nil
	}
	out := &HostReading{Connection: r.Connection}
	if a != nil {
		out.ReadAt, out.ExpiresAt = a.ReadAt, a.ReadAt.Add(rule.MaxAge)
	}
	return out
}

// explain reports whether the host of r lets the user read it, and by which rule.
func (h *hostState) explain(r *code.Repository, joined joinedUser) (sees bool, why AccessReason) {
	rule, a, counts := h.findAccess(r)
	if !counts {
		return false, AccessNotMember
	}
	why = AccessNotJoined
	for _, j := range joined {
		if j.connection != r.Connection {
			continue
		}
		if a == nil {
			return false, AccessNotRead
		}
		names := a.Users
		if strings.Contains(j.name, "@") {
			names = a.Emails
		}
		if _, found := slices.BinarySearch(names, j.name); !found {
			why = AccessNotMember
			continue
		}
		if !rule.counts(a.ReadAt, h.now) {
			return false, AccessHostStale
		}
		return true, AccessByHost
	}
	return false, why
}
