package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// resetTTL bounds the time in which a lost password can be replaced with a link.
const resetTTL = 24 * time.Hour

// resetPrefix begins the values of reset links; no credential has it.
const resetPrefix = "qw"

// ResetValue returns a value with which a user who lost their password sets a new one within
// resetTTL. It is not stored: it is signed with the server's secret, together with the present
// hashes of that password and of the owner's. So it works once, and ends with the next change of
// either password and with the rights of the owner: an owner whose session was stolen ends the
// links that were created with it. The audit log names both users first.
func (s *Service) ResetValue(ctx context.Context, p *Principal, id account.UserID) (string, error) {
	if err := needOwner(p); err != nil {
		return "", err
	}
	by, err := s.needPerson(p)
	if err != nil {
		return "", err
	}
	user, err := s.findUser(id)
	switch {
	case err != nil:
		return "", err
	case !user.Active():
		return "", ErrNotActive
	case user.PasswordHash == "":
		return "", fmt.Errorf("%w: the user signs in through a provider", ErrForbidden)
	case user.ID == by.ID:
		return "", fmt.Errorf("%w: your own password is changed with the old one", ErrForbidden)
	}
	if s.o.Recorder != nil {
		rec := audit.Record{At: s.nowUTC(), Action: audit.CreatedReset, Actor: p.Actor, TargetType: audit.TargetUser, Target: string(id)}
		if err := s.o.Recorder.Record(ctx, rec); err != nil {
			return "", fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	signed := strings.Join([]string{string(by.ID), string(id), strconv.FormatInt(s.nowUTC().Add(resetTTL).Unix(), 16)}, "_")
	return resetPrefix + "_" + s.signReset(signed, by, user) + "_" + signed, nil
}

// signReset returns the signature of a reset value in hexadecimal.
func (s *Service) signReset(signed string, by, user *account.User) string {
	mac := hmac.New(sha256.New, s.digests.key)
	_, _ = fmt.Fprintf(mac, "password reset %s %q %q", signed, by.PasswordHash, user.PasswordHash) // never fails
	return hex.EncodeToString(mac.Sum(nil))
}

// UserOfReset returns the user whose password a value can replace.
func (s *Service) UserOfReset(value string) (*account.User, bool) {
	parts := strings.Split(value, "_")
	if len(parts) != 5 || parts[0] != resetPrefix {
		return nil, false
	}
	by, isUser := s.o.Directory.User(account.UserID(parts[2]))
	user, found := s.o.Directory.User(account.UserID(parts[3]))
	until, err := strconv.ParseInt(parts[4], 16, 64)
	if !isUser || !found || err != nil || !hmac.Equal([]byte(parts[1]), []byte(s.signReset(strings.Join(parts[2:], "_"), by, user))) {
		return nil, false
	}
	mayReset := by.Active() && by.Role == account.RoleOwner && user.Active() && user.PasswordHash != ""
	return user, mayReset && !hasExpired(time.Unix(until, 0), s.o.Now())
}

// ResetPassword replaces a lost password, ends the sessions of the user and signs them in. The
// error is ErrReset for any problem with the value.
func (s *Service) ResetPassword(ctx context.Context, from account.Actor, value, password string) (*SignedIn, error) {
	from = cleanActor(from)
	return s.throttleAttempt(ctx, methodReset, from, func() (*SignedIn, error) {
		user, valid := s.UserOfReset(value)
		if !valid {
			return nil, ErrReset
		}
		if err := checkPassword(password); err != nil {
			return nil, err
		}
		hash, err := s.hasher.hashPassword(ctx, turnOfNewcomer(from.Address), password)
		if err != nil {
			return nil, err
		}
		// Hashing may have waited, and another request may have used the value.
		if _, valid := s.UserOfReset(value); !valid {
			return nil, ErrReset
		}
		n := s.newSession(user.ID, from, methodReset)
		replaced, err := s.replacePassword(ctx, user, hash, n.event.By, n.event.At)
		if err != nil {
			return nil, err
		}
		if !replaced { // another request has used the value at once
			return nil, ErrReset
		}
		return s.startSession(ctx, n)
	})
}
