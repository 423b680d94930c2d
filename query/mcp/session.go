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

// SessionLifetime is how long a session ID is good for. A client whose ID is
// unknown begins anew, as the protocol asks of it.
const SessionLifetime = 24 * time.Hour

// maxEnded bounds the IDs that are remembered as ended.
const maxEnded = 10_000

// Errors of session IDs.
var (
	// ErrSessionUnknown is of an ID that this server did not hand out, or that is
	// over.
	ErrSessionUnknown = errors.New("session is unknown or over; initialize anew, without Mcp-Session-Id")
	// ErrSessionForeign is of an ID that was handed out to somebody else.
	ErrSessionForeign = errors.New("session belongs to somebody else; initialize anew, without Mcp-Session-Id")
)

// sessions hands out session IDs and knows them again. An ID is, in base64,
//
//	0      16        24         40     56
//	nonce  ends at   owner      MAC    (of all before it)
type sessions struct {
	secret []byte
	now    func() time.Time
	mu     struct {
		sync.Mutex
		ended map[string]time.Time // until they are over
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
	s.mu.ended = make(map[string]time.Time)
	return s
}

// begin returns a new ID for p.
func (s *sessions) begin(p *auth.Principal) string {
	id := make([]byte, timeEnd, idBytes)
	_, _ = rand.Read(id[:nonceEnd]) // never fails
	binary.BigEndian.PutUint64(id[nonceEnd:], uint64(s.now().Add(SessionLifetime).Unix()))
	id = append(id, s.sum("owner", id[:nonceEnd], owner(p))...)
	id = append(id, s.sum("session", id, "")...)
	return base64.RawURLEncoding.EncodeToString(id)
}

// check returns nil if id is a session of p.
func (s *sessions) check(id string, p *auth.Principal) error {
	b, err := base64.RawURLEncoding.Strict().DecodeString(id)
	if err != nil || len(b) != idBytes || !hmac.Equal(b[ownerEnd:], s.sum("session", b[:ownerEnd], "")) {
		return ErrSessionUnknown
	}
	if int64(binary.BigEndian.Uint64(b[nonceEnd:])) <= s.now().Unix() {
		return ErrSessionUnknown
	}
	if !hmac.Equal(b[timeEnd:ownerEnd], s.sum("owner", b[:nonceEnd], owner(p))) {
		return ErrSessionForeign
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ended := s.mu.ended[id]; ended {
		return ErrSessionUnknown
	}
	return nil
}

// end makes a good ID unknown. Should so many have been ended that they cannot be
// remembered, those that are over go first, then any.
func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.mu.ended) >= maxEnded {
		for old, until := range s.mu.ended {
			if !until.After(s.now()) {
				delete(s.mu.ended, old)
			}
		}
	}
	for old := range s.mu.ended {
		if len(s.mu.ended) < maxEnded {
			break
		}
		delete(s.mu.ended, old)
	}
	s.mu.ended[id] = s.now().Add(SessionLifetime)
}

// sum is half a MAC, which is as much as one can guess.
func (s *sessions) sum(purpose string, parts []byte, text string) []byte {
	h := hmac.New(sha256.New, s.secret)
	for _, part := range [][]byte{[]byte(purpose), parts, []byte(text)} {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		h.Write(part)
	}
	return h.Sum(nil)[:16]
}

// owner is whom a session is bound to: the user, whichever of their credentials
// they show, so that one can be renewed; else the kind of actor.
func owner(p *auth.Principal) string {
	if p.Actor.User != "" {
		return string(account.ActorUser) + ":" + string(p.Actor.User)
	}
	return string(p.Actor.Kind)
}

// caller is who shares the places of calls: nobody else than an address, where
// nobody has shown who they are.
func caller(p *auth.Principal) string {
	if p.Anonymous() {
		return owner(p) + " " + p.Actor.Address
	}
	return owner(p)
}
