package accounts

import (
	"container/heap"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
)

// expiryGrace is the time for which expired rows are kept. It is longer than the clocks
// of two processes can differ, so that an event of one process does not end a credential
// that another still accepts.
const expiryGrace = 24 * time.Hour

// expiry is the time when a session, token or invitation ends.
type expiry struct {
	at   time.Time
	kind byte
	id   string
}

// expiries are ordered by time, earliest first. An expiry may belong to a thing that no
// longer exists or that now ends at another time.
type expiries struct{ heap []expiry }

// Len implements heap.Interface.
func (e *expiries) Len() int { return len(e.heap) }

// Less implements heap.Interface.
func (e *expiries) Less(i, j int) bool { return e.heap[i].at.Before(e.heap[j].at) }

// Swap implements heap.Interface.
func (e *expiries) Swap(i, j int) { e.heap[i], e.heap[j] = e.heap[j], e.heap[i] }

// Push implements heap.Interface.
func (e *expiries) Push(x any) { e.heap = append(e.heap, x.(expiry)) }

// Pop implements heap.Interface.
func (e *expiries) Pop() any {
	last := e.heap[len(e.heap)-1]
	e.heap = e.heap[:len(e.heap)-1]
	return last
}

func (e *expiries) add(at time.Time, kind byte, id string) { heap.Push(e, expiry{at, kind, id}) }

// takeBefore removes and returns the next expiry before a time.
func (e *expiries) takeBefore(before time.Time) (expiry, bool) {
	if len(e.heap) == 0 || !e.heap[0].at.Before(before) {
		return expiry{}, false
	}
	return heap.Pop(e).(expiry), true
}

// dropExpired removes the rows that expired more than expiryGrace before now, the time of
// the event.
func (c *change) dropExpired(now time.Time) error {
	for {
		x, ok := c.s.expiries.takeBefore(now.Add(-expiryGrace))
		if !ok {
			return nil
		}
		c.takenExpiries = append(c.takenExpiries, x)
		if err := c.dropExpiry(x); err != nil {
			return err
		}
	}
}

func (c *change) dropExpiry(x expiry) error {
	switch x.kind {
	case kindSession:
		if s := c.s.sessions.byID[account.SessionID(x.id)]; s != nil && s.ExpiresAt.Equal(x.at) {
			return c.dropSession(s.ID)
		}
	case kindToken:
		if t := c.s.tokens.byID[account.TokenID(x.id)]; t != nil && t.ExpiresAt.Equal(x.at) {
			return c.dropToken(t.ID)
		}
	case kindInvitation:
		if i := c.s.invitations.byID[account.InvitationID(x.id)]; i != nil && i.ExpiresAt.Equal(x.at) {
			return c.dropInvitation(i.ID)
		}
	}
	return nil
}

// expirySlack is the number of expiries of deleted objects that are kept in addition to
// one per existing object.
const expirySlack = 1024

// rebuildExpiries rebuilds the expiries if most of them belong to deleted objects.
func (s *state) rebuildExpiries() {
	live := len(s.sessions.byID) + len(s.tokens.byID) + len(s.invitations.byID)
	if s.expiries.Len() <= 2*live+expirySlack {
		return
	}
	s.expiries.heap = nil
	for id, v := range s.sessions.byID {
		s.expiries.add(v.ExpiresAt, kindSession, string(id))
	}
	for id, v := range s.tokens.byID {
		s.expiries.add(v.ExpiresAt, kindToken, string(id))
	}
	for id, v := range s.invitations.byID {
		s.expiries.add(v.ExpiresAt, kindInvitation, string(id))
	}
}
