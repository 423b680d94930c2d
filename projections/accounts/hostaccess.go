package accounts

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"
	"unique"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Bounds of the permissions of code hosts. A user of a repository needs 16 bytes of
// memory, because IDs that occur more than once share their memory.
const (
	MaxHostRepositories = 200_000
	MaxHostMemberships  = 4_000_000
	// MaxHostDoubts bounds the doubts about single repositories. Beyond it, a doubt is
	// recorded about the connection, of which there are few.
	MaxHostDoubts = 10_000
	// hostAccessRetention is the time for which a row is kept after its last reading.
	// query/auth ignores it much earlier.
	hostAccessRetention = 90 * 24 * time.Hour
	// maxOverlap is the maximum time by which a reading that is appended later may have
	// begun before another. A row with a time further ahead was read by a wrong clock.
	maxOverlap = 3 * time.Hour
)

// hostAccess holds the permissions of repositories at their code hosts.
type hostAccess struct {
	// rows is shared with readers once they read it, and is then copied before a change.
	rows        map[code.RepositoryID]*account.HostAccess
	taken       bool
	version     uint64 // counts changes other than those of the time of reading
	memberships int    // users and addresses in all rows
	// doubts holds the times since which a reading is requested. It is shared with
	// readers like rows.
	doubts map[account.HostDoubt]time.Time
}

type hostAccessRow struct {
	Connection string    `json:"connection"`
	Users      []string  `json:"users,omitempty"`
	Emails     []string  `json:"emails,omitempty"`
	ReadAt     time.Time `json:"readAt"`
	RemovedAt  time.Time `json:"removedAt,omitzero"`
}

func hostAccessKey(id code.RepositoryID) []byte {
	return binary.BigEndian.AppendUint64([]byte{byte(store.FamilyAccounts), kindHostAccess}, uint64(id))
}

func (d *Directory) loadHostAccess(key, value []byte) error {
	var r hostAccessRow
	if len(key) != 10 {
		return errors.New("want a repository of 8 bytes")
	}
	if err := json.Unmarshal(value, &r); err != nil {
		return err
	}
	id := code.RepositoryID(binary.BigEndian.Uint64(key[2:]))
	d.mu.state.hosts.put(&account.HostAccess{
		Repository: id, Connection: r.Connection, Users: internAll(r.Users), Emails: internAll(r.Emails), ReadAt: r.ReadAt, RemovedAt: r.RemovedAt,
	})
	return nil
}

// internAll returns the elements in order, sharing the memory of equal ones; nil for
// none.
func internAll(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = unique.Make(s).Value()
	}
	slices.Sort(out)
	return slices.Clip(slices.Compact(out))
}

func countMemberships(a *account.HostAccess) int {
	if a == nil {
		return 0
	}
	return len(a.Users) + len(a.Emails)
}

func isSameHostAccess(a, b *account.HostAccess) bool {
	return a != nil && b != nil && a.Connection == b.Connection && slices.Equal(a.Users, b.Users) && slices.Equal(a.Emails, b.Emails)
}

// put adds or replaces the permissions of a repository.
func (h *hostAccess) put(a *account.HostAccess) {
	h.copyTaken()
	was := h.rows[a.Repository]
	if !isSameHostAccess(was, a) {
		h.version++
	}
	h.memberships += countMemberships(a) - countMemberships(was)
	h.rows[a.Repository] = a
}

func (h *hostAccess) remove(id code.RepositoryID) {
	h.copyTaken()
	h.memberships -= countMemberships(h.rows[id])
	h.version++
	delete(h.rows, id)
}

func (h *hostAccess) copyTaken() {
	if h.taken {
		h.rows, h.doubts, h.taken = maps.Clone(h.rows), maps.Clone(h.doubts), false
	}
}

// hostAccessRead replaces the row of a repository. A reading that began before the one in
// the row, or before a user was removed from it, has no effect, unless the difference
// exceeds maxOverlap: two processes may have read at the same time.
func (c *change) hostAccessRead(e *event.HostAccessRead) (Refusal, error) {
	h := &c.s.hosts
	was := h.rows[e.ID]
	a := &account.HostAccess{Repository: e.ID, Connection: e.Connection, Users: internAll(e.Users), Emails: internAll(e.Emails), ReadAt: e.At.UTC()}
	switch {
	case was != nil && isOutdated(a.ReadAt, was.ReadAt), was != nil && isOutdated(a.ReadAt, was.RemovedAt):
		return "", nil
	case was == nil && len(h.rows) >= MaxHostRepositories, h.memberships-countMemberships(was)+countMemberships(a) > MaxHostMemberships:
		// The only refusal with an effect: the old row might grant what the host has revoked.
		return TooMany, c.dropHostAccess(was)
	}
	if err := c.dropDoubt(e.Connection, e.ID, a.ReadAt); err != nil {
		return "", err
	}
	return "", c.putHostAccess(a)
}

// isOutdated reports whether a reading that began at the given time is older than what
// happened at then.
func isOutdated(began, then time.Time) bool {
	return then.After(began) && then.Sub(began) < maxOverlap
}

// removeHostUser removes the user that a delivery names from the row of a repository, or
// from the rows of all repositories of the connection. The delivery does not name the
// addresses of the user, so the row loses all addresses until the next reading.
func (c *change) removeHostUser(e *event.HostAccessDoubted) error {
	for _, was := range c.s.hosts.rows {
		if e.ID != 0 {
			was = c.s.hosts.rows[e.ID]
		}
		if was != nil && was.Connection == e.Connection && (len(was.Emails) > 0 || slices.Contains(was.Users, e.Removed)) {
			next := *was
			next.Emails, next.RemovedAt = nil, e.At.UTC()
			next.Users = slices.DeleteFunc(slices.Clone(was.Users), func(user string) bool { return user == e.Removed })
			if err := c.putHostAccess(&next); err != nil {
				return err
			}
		}
		if e.ID != 0 {
			break
		}
	}
	return nil
}

// hostAccessDoubted records that a repository, or all repositories of a connection, must
// be read again.
func (c *change) hostAccessDoubted(e *event.HostAccessDoubted) error {
	if e.Removed != "" {
		if err := c.removeHostUser(e); err != nil {
			return err
		}
	}
	doubt := account.HostDoubt{Connection: e.Connection, Repository: e.ID}
	if _, known := c.s.hosts.doubts[doubt]; !known && len(c.s.hosts.doubts) >= MaxHostDoubts {
		doubt.Repository = 0
	}
	at := e.At.UTC()
	c.addEffect(func(s *state) {
		s.hosts.copyTaken()
		s.hosts.doubts[doubt] = at
	})
	return write(c.b, hostDoubtKey(doubt), at)
}

// dropDoubt removes the doubt about a repository that was read since then. A doubt about
// a whole connection stays: the times of reading show which repositories were read since.
func (c *change) dropDoubt(connection string, id code.RepositoryID, readAt time.Time) error {
	doubt := account.HostDoubt{Connection: connection, Repository: id}
	since, found := c.s.hosts.doubts[doubt]
	if !found || !readAt.After(since) {
		return nil
	}
	c.addEffect(func(s *state) {
		s.hosts.copyTaken()
		delete(s.hosts.doubts, doubt)
	})
	return c.b.Delete(hostDoubtKey(doubt))
}

func hostDoubtKey(doubt account.HostDoubt) []byte {
	key := append([]byte{byte(store.FamilyAccounts), kindHostDoubt}, doubt.Connection...)
	return binary.BigEndian.AppendUint64(append(key, 0), uint64(doubt.Repository))
}

func (d *Directory) loadHostDoubt(key, value []byte) error {
	if len(key) < 12 {
		return errors.New("want a connection and a repository of 8 bytes")
	}
	var at time.Time
	if err := json.Unmarshal(value, &at); err != nil {
		return err
	}
	end := len(key) - 8
	doubt := account.HostDoubt{Connection: string(key[2 : end-1]), Repository: code.RepositoryID(binary.BigEndian.Uint64(key[end:]))}
	d.mu.state.hosts.doubts[doubt] = at
	return nil
}

// hostAccessConfirmed updates the time of reading of repositories, and drops rows that were
// not read for hostAccessRetention.
func (c *change) hostAccessConfirmed(e *event.HostAccessConfirmed) error {
	for _, id := range slices.Compact(slices.Sorted(slices.Values(e.Repositories))) {
		was := c.s.hosts.rows[id]
		if was == nil || was.Connection != e.Connection || !was.ReadAt.Before(e.At) {
			continue
		}
		a := *was
		a.ReadAt = e.At.UTC()
		if err := errors.Join(c.dropDoubt(e.Connection, id, a.ReadAt), c.putHostAccess(&a)); err != nil {
			return err
		}
	}
	for id, a := range c.s.hosts.rows {
		if a.ReadAt.Add(hostAccessRetention).Before(e.At) && !slices.Contains(e.Repositories, id) {
			if err := c.dropHostAccess(a); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *change) putHostAccess(a *account.HostAccess) error {
	c.addEffect(func(s *state) { s.hosts.put(a) })
	return write(c.b, hostAccessKey(a.Repository), &hostAccessRow{a.Connection, a.Users, a.Emails, a.ReadAt, a.RemovedAt})
}

func (c *change) dropHostAccess(a *account.HostAccess) error {
	if a == nil {
		return nil
	}
	c.addEffect(func(s *state) { s.hosts.remove(a.Repository) })
	return c.b.Delete(hostAccessKey(a.Repository))
}

// HostAccess returns the users who can read each repository at its code host, in a map
// that is never modified. The version changes with it, unless only times of reading have
// changed.
func (d *Directory) HostAccess() (all map[code.RepositoryID]*account.HostAccess, version uint64) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.mu.hosts.rows, d.mu.hosts.version
}

// HostDoubts returns the repositories and connections that must be read again, and since
// when, in a map that is never modified.
func (d *Directory) HostDoubts() map[account.HostDoubt]time.Time {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.mu.hosts.doubts
}
