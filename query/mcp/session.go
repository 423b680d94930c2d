package mcp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
)

// SessionLifetime is how long a session ID is valid. A client whose ID is unknown
// initializes again, as the protocol requires.
const SessionLifetime = 24 * time.Hour

// maxEnded bounds the ended IDs that are remembered, at about 150 bytes each.
const maxEnded = 20_000

// Errors of session IDs.
var (
	// ErrSessionUnknown is returned for an ID that this server did not issue, or
	// that has expired.
	ErrSessionUnknown = errors.New("unknown or expired session; initialize again without Mcp-Session-Id")
	// ErrSessionForeign is returned for an ID that was issued to another user.
	ErrSessionForeign = errors.New("session belongs to another user; initialize again without Mcp-Session-Id")
)

// sessions issues and verifies session IDs. In base64, an ID is:
//
//	0      16        24         40     56
//	nonce  ends at   owner      MAC    (of all before it)
type sessions struct {
	secret []byte
	now    func() time.Time
	mu     struct {
		sync.Mutex
		// ended holds the IDs ended since the time since, and before those ended earlier.
		// Each is remembered for SessionLifetime, unless there are too many.
		ended, before map[string]struct{}
		since         time.Time
	}
}

const (
	nonceEnd = 16
	timeEnd  = nonceEnd + 8
	ownerEnd = timeEnd + 16
	idBytes  = ownerEnd + 16
)

func newSessions(secret []byte, now func() time.Time) *sessions {
	s := &sessions{secret: secret, now: now}
	s.mu.ended, s.mu.since = make(map[string]struct{}), now()
	return s
}

// newSession returns a new ID for p.
func (s *sessions) newSession(p *auth.Principal) string {
	id := make([]byte, timeEnd, idBytes)
	_, _ = rand.Read(id[:nonceEnd]) // never fails
	binary.BigEndian.PutUint64(id[nonceEnd:], uint64(s.now().Add(SessionLifetime).Unix()))
	id = append(id, s.halfMAC("owner", id[:nonceEnd], sessionOwner(p))...)
	id = append(id, s.halfMAC("session", id, "")...)
	return base64.RawURLEncoding.EncodeToString(id)
}

// checkSession returns nil if id is a session of p.
func (s *sessions) checkSession(id string, p *auth.Principal) error {
	b, err := base64.RawURLEncoding.Strict().DecodeString(id)
	if err != nil || len(b) != idBytes || !hmac.Equal(b[ownerEnd:], s.halfMAC("session", b[:ownerEnd], "")) {
		return ErrSessionUnknown
	}
	if int64(binary.BigEndian.Uint64(b[nonceEnd:])) <= s.now().Unix() {
		return ErrSessionUnknown
	}
	if !hmac.Equal(b[timeEnd:ownerEnd], s.halfMAC("owner", b[:nonceEnd], sessionOwner(p))) {
		return ErrSessionForeign
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ended := s.mu.ended[id]
	_, before := s.mu.before[id]
	if ended || before {
		return ErrSessionUnknown
	}
	return nil
}

// endSession makes a valid ID unknown. The oldest IDs are forgotten first: expired ones
// and, if there are too many, others.
func (s *sessions) endSession(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.mu.ended) >= maxEnded/2 || s.now().Sub(s.mu.since) >= SessionLifetime {
		s.mu.before, s.mu.ended, s.mu.since = s.mu.ended, make(map[string]struct{}), s.now()
	}
	s.mu.ended[id] = struct{}{}
}

// halfMAC returns half of a MAC, which is long enough to prevent guessing.
func (s *sessions) halfMAC(purpose string, parts []byte, text string) []byte {
	h := hmac.New(sha256.New, s.secret)
	for _, part := range [][]byte{[]byte(purpose), parts, []byte(text)} {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		h.Write(part)
	}
	return h.Sum(nil)[:16]
}

// sessionOwner returns the owner to which a session is bound: the user, with any of their
// credentials, so that a credential can be renewed, or else the kind of actor.
func sessionOwner(p *auth.Principal) string {
	if p.Actor.User != "" {
		return string(account.ActorUser) + ":" + string(p.Actor.User)
	}
	return string(p.Actor.Kind)
}

// callerKey returns the key by which calls share slots: the owner, and for anonymous
// requests also the address.
func callerKey(p *auth.Principal) string {
	if p.Anonymous() {
		return sessionOwner(p) + " " + p.Actor.Address
	}
	return sessionOwner(p)
}
