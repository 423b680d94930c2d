package auth

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/network"
)

// SignIn starts a session with the password of a user. The error is ErrUnauthenticated if
// there is no such user, the password is wrong or the user may not sign in, all after the
// same work; or it is a ThrottledError, ErrBusy or ErrUnavailable. Every failure is
// recorded in the audit log.
func (s *Service) SignIn(ctx context.Context, from account.Actor, email, password string) (*SignedIn, error) {
	from = cleanActor(from)
	in, err := s.signIn(ctx, from, email, password)
	s.noteSignIn(ctx, methodPassword, from, email, err)
	return in, err
}

func (s *Service) signIn(ctx context.Context, from account.Actor, email, password string) (*SignedIn, error) {
	if err := s.checkReady(); err != nil {
		return nil, err
	}
	name, err := normalEmail(email)
	if err != nil {
		name = "" // counts for the address only
	}
	user, found := s.o.Directory.UserByEmail(name)
	known := found && slices.ContainsFunc(s.o.Directory.Sessions(user.ID), func(session *account.Session) bool {
		return network.ClientNetwork(session.Address) == network.ClientNetwork(from.Address)
	})
	turn := turnOfStranger(from.Address)
	if known {
		turn = turnOfUser(string(user.ID))
	}
	limits := limitsOf(name, from.Address, known)
	if err := s.throttle.beginAttempt(limits, s.o.Now()); err != nil {
		return nil, err
	}
	hash := ""
	if found {
		hash = user.PasswordHash
	}
	matches, stale, err := s.checkPasswordHash(ctx, turn, hash, password)
	if err != nil {
		s.throttle.forgetAttempt(limits, false)
		return nil, err
	}
	if !matches || !user.Active() {
		return nil, ErrUnauthenticated
	}
	n := s.newSession(user.ID, from, methodPassword)
	rehashed := s.rehashPassword(ctx, n.event, hash, stale, password)
	// Hashing may have waited: a session started with a password that has changed in the
	// meantime would outlive the change. A user who knows the new password can retry.
	if now, still := s.o.Directory.User(user.ID); !still || now.PasswordHash != hash {
		s.throttle.forgetAttempt(limits, false)
		return nil, ErrBusy
	}
	s.throttle.forgetAttempt(limits, true)
	in, err := s.startSession(ctx, n, rehashed...)
	if err != nil {
		return nil, err
	}
	if len(rehashed) > 0 && in.User.PasswordHash == rehashed[0].(*event.UserChanged).PasswordHash {
		hash = in.User.PasswordHash
	}
	if in.User.PasswordHash != hash { // a change is in the log before the session
		return nil, cmp.Or(s.appendChange(ctx, &event.SessionEnded{User: user.ID, Session: in.Session.ID, By: n.event.By, At: s.nowUTC()}), ErrBusy)
	}
	return in, nil
}

// checkPasswordHash checks a password. Texts that cannot be a password are wrong without
// hashing.
func (s *Service) checkPasswordHash(ctx context.Context, turn hashTurn, hash, password string) (matches, stale bool, err error) {
	if len(password) > account.MaxPasswordBytes {
		return false, false, nil
	}
	return s.hasher.matchesHash(ctx, turn, hash, password)
}

// rehashPassword stores the password's hash with the current parameters in place of old, if it was
// hashed with others. If hashing is not possible now, a later sign-in does it.
func (s *Service) rehashPassword(ctx context.Context, begun *event.SessionStarted, old string, stale bool, password string) []event.Event {
	if !stale {
		return nil
	}
	hash, err := s.hasher.hashPassword(ctx, turnOfUser(string(begun.User)), password)
	if err != nil {
		return nil
	}
	return []event.Event{&event.UserChanged{
		User: begun.User, Change: event.UserPasswordRehash, PasswordHash: hash, Replaces: old, By: begun.By, At: begun.At,
	}}
}

// noteSignIn counts an attempt, and records a failed one. A failure to record it does not
// change the response.
func (s *Service) noteSignIn(ctx context.Context, method string, from account.Actor, email string, err error) {
	reason := outcomeOf(err)
	s.metrics.signIns.WithLabelValues(method, reason).Inc()
	if s.o.Recorder == nil || reason != outcomeFailed && reason != outcomeThrottled {
		return
	}
	suppressed, wanted := s.failedNotes.allowEntry(s.o.Now())
	if !wanted {
		return
	}
	rec := audit.Record{
		At: s.nowUTC(), Action: audit.SignInFailed, Actor: from, TargetType: audit.TargetUser,
		Metadata: map[string]string{"method": method, "reason": reason},
	}
	if suppressed > 0 {
		rec.Metadata["suppressed"] = strconv.FormatInt(suppressed, 10)
	}
	if name, err := normalEmail(email); err == nil {
		// Do not record an unknown address: it may be anything.
		if user, found := s.o.Directory.UserByEmail(name); found {
			rec.Target = string(user.ID)
		}
	}
	if err := s.o.Recorder.Record(ctx, rec); err != nil {
		s.o.Logger.WarnContext(ctx, "failed sign-in not recorded in the audit log", "error", err)
	}
}

// Outcomes of an attempt: values of the label outcome.
const (
	outcomeStarted     = "started"
	outcomeFailed      = "failed"
	outcomeThrottled   = "throttled"
	outcomeUnavailable = "unavailable"
	// outcomeUnfinished is for incomplete forms and for users who wait for approval: they
	// do not count as failures.
	outcomeUnfinished = "unfinished"
)

func outcomeOf(err error) string {
	var throttled *ThrottledError
	switch {
	case err == nil:
		return outcomeStarted
	case errors.As(err, &throttled):
		return outcomeThrottled
	case errors.Is(err, ErrInvalid), errors.Is(err, ErrPending):
		return outcomeUnfinished
	case errors.Is(err, ErrBusy), errors.Is(err, ErrUnavailable), errors.Is(err, ErrNotReady), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return outcomeUnavailable
	}
	return outcomeFailed
}

// throttleAttempt runs try, a sign-in with a secret, under the limits for failed sign-ins
// of the address.
func (s *Service) throttleAttempt(ctx context.Context, method string, from account.Actor, try func() (*SignedIn, error)) (*SignedIn, error) {
	if err := s.checkReady(); err != nil {
		return nil, err
	}
	limits := limitsOf("", from.Address, false)
	err := s.throttle.beginAttempt(limits, s.o.Now())
	var in *SignedIn
	if err == nil {
		if in, err = try(); outcomeOf(err) != outcomeFailed {
			s.throttle.forgetAttempt(limits, err == nil)
		}
	}
	s.noteSignIn(ctx, method, from, "", err)
	return in, err
}
