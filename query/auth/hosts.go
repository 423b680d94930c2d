package auth

import (
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// HostRule says how the permissions of the code host of a connection count.
type HostRule struct {
	// MaxAge is the age from which a reading grants nothing.
	MaxAge time.Duration
	// Issuer is that of the identities whose subjects are IDs of the host's users; empty
	// for none.
	Issuer string
	// Emails joins users by e-mail addresses that both the host and an identity provider
	// have verified.
	Emails bool
}

// staleRecheck is how often a state is read again in which something is too old: a new time
// of reading alone does not make another state.
const staleRecheck = 5 * time.Second

// hostState is what code hosts say, and how it counts, as of one moment.
type hostState struct {
	all     map[code.RepositoryID]*account.HostAccess // not changed
	version uint64
	rules   map[string]HostRule // not changed
	now     time.Time
}

// readHosts returns the state as of now.
func (s *Service) readHosts() hostState {
	h := hostState{rules: s.o.HostRules(), now: s.o.Now()}
	if len(h.rules) > 0 {
		h.all, h.version = s.o.Directory.HostAccess()
	}
	return h
}

// isSame reports whether h and other grant the same, apart from ages.
func (h *hostState) isSame(other *hostState) bool {
	return h.version == other.version && isSameMap(h.rules, other.rules)
}

// hostUser is a user of the host of a connection: an ID, or an address, which has an @.
type hostUser struct{ connection, name string }

// hostUsers are users who may read something.
type hostUsers map[hostUser]struct{}

// joinedUser is who a user is at the code hosts.
type joinedUser []hostUser

// join returns who a user is at the hosts of the connections, in the order of their names.
func (h *hostState) join(user *account.User) joinedUser {
	var joined joinedUser
	for connection, rule := range h.rules {
		for _, id := range user.Identities {
			// An @ would make an address of it.
			if rule.Issuer != "" && id.Issuer == rule.Issuer && !strings.Contains(id.Subject, "@") {
				joined = append(joined, hostUser{connection, id.Subject})
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

// selectOf returns, as one string, those of the user's joins that are granted something.
func (u hostUsers) selectOf(joined joinedUser) string {
	var out strings.Builder
	for _, j := range joined {
		if _, granted := u[j]; granted {
			out.WriteString(j.connection + "\x00" + j.name + "\x00")
		}
	}
	return out.String()
}

// summarize returns who is granted something, and until when nothing becomes too old.
func (h *hostState) summarize() (granted hostUsers, until time.Time) {
	granted, until = hostUsers{}, h.now.Add(100*365*24*time.Hour)
	for _, a := range h.all {
		rule, ok := h.rules[a.Connection]
		if !ok {
			continue
		}
		next := a.ReadAt.Add(rule.MaxAge)
		if !h.now.Before(next) {
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

// find returns what the host of r said last, if it counts at all.
func (h *hostState) find(r *code.Repository) (rule HostRule, a *account.HostAccess, counts bool) {
	if rule, counts = h.rules[r.Connection]; !counts || r.Connection == "" || !r.Private {
		return HostRule{}, nil, false
	}
	if a = h.all[r.ID]; a != nil && a.Connection != r.Connection {
		a = nil // another host, or other credentials, said it
	}
	return rule, a, true
}

// readingOf returns when r was read; nil where its host does not count.
func (h *hostState) readingOf(r *code.Repository) *HostReading {
	rule, a, counts := h.find(r)
	if !counts {
		return nil
	}
	out := &HostReading{Connection: r.Connection}
	if a != nil {
		out.ReadAt, out.ExpiresAt = a.ReadAt, a.ReadAt.Add(rule.MaxAge)
	}
	return out
}

// explain says whether the host of r lets the user read it, and by which rule.
func (h *hostState) explain(r *code.Repository, joined joinedUser) (sees bool, why AccessReason) {
	rule, a, counts := h.find(r)
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
		if !h.now.Before(a.ReadAt.Add(rule.MaxAge)) {
			return false, AccessHostStale
		}
		return true, AccessByHost
	}
	return false, why
}
