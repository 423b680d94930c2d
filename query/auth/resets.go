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
	"github.com/quarrysearch/quarry/schemas/event"
)

// resetTTL bounds the time in which a lost password can be replaced with a link.
const resetTTL = 24 * time.Hour

// resetPrefix begins the values of reset links; no credential has it.
const resetPrefix = "qw"

// ResetValue returns a value with which a user who lost their password sets a new one within
// resetTTL. It is not stored: it is signed with the server's secret, together with the present
// hash of the password, so that it works once and ends with the next change of the password. It
// ends with the rights of the owner who created it, too.
func (s *Service) ResetValue(p *Principal, id account.UserID) (string, error) {
	if err := needOwner(p); err != nil {
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
	}
	signed := strings.Join([]string{resetPrefix, string(p.Actor.User), string(id), strconv.FormatInt(s.nowUTC().Add(resetTTL).Unix(), 16)}, "_")
	return signed + "_" + s.signReset(signed, user), nil
}

// signReset returns the signature of a reset value of a user, in hexadecimal.
func (s *Service) signReset(signed string, user *account.User) string {
	mac := hmac.New(sha256.New, s.digests.key)
	_, _ = fmt.Fprintf(mac, "password reset %s %s", signed, user.PasswordHash) // never fails
	return hex.EncodeToString(mac.Sum(nil))
}

// UserOfReset returns the user whose password a value can replace.
func (s *Service) UserOfReset(value string) (*account.User, bool) {
	parts := strings.Split(value, "_")
	if len(parts) != 5 || parts[0] != resetPrefix {
		return nil, false
	}
	signed := strings.Join(parts[:4], "_")
	user, found := s.o.Directory.User(account.UserID(parts[2]))
	until, err := strconv.ParseInt(parts[3], 16, 64)
	if !found || err != nil || user.PasswordHash == "" || !user.Active() || !hmac.Equal([]byte(parts[4]), []byte(s.signReset(signed, user))) {
		return nil, false
	}
	by, isUser := s.o.Directory.User(account.UserID(parts[1]))
	isOwners := parts[1] == "" || isUser && by.Active() && by.Role == account.RoleOwner // the operator has no ID
	return user, isOwners && !hasExpired(time.Unix(until, 0), s.o.Now())
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
		return s.startSession(ctx, n, &event.UserChanged{
			User: user.ID, Change: event.UserPasswordChanged, PasswordHash: hash, By: n.event.By, At: n.event.At,
		})
	})
}
