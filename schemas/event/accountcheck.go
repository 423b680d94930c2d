package event

import (
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// accountEvent checks the events of TopicAccounts, and says whether ev is one.
func (c *checker) accountEvent(ev Event) bool {
	switch e := ev.(type) {
	case *UserCreated:
		c.userCreated(e)
	case *UserChanged:
		c.userChanged(e)
	case *UserRemoved:
		c.accountID("user", string(e.User))
		c.by(e.By, e.At)
	case *InvitationCreated:
		c.invitationCreated(e)
	case *InvitationRevoked:
		c.accountID("invitation", string(e.Invitation))
		c.by(e.By, e.At)
	case *SessionStarted:
		c.sessionStarted(e)
	case *SessionEnded:
		c.accountID("user", string(e.User))
		c.optionalID("session", string(e.Session))
		c.by(e.By, e.At)
	case *AccessChanged:
		c.accessChanged(e)
	case *ActivityNoted:
		c.activityNoted(e)
	case *NumbersAssigned:
		c.numbersAssigned(e)
	default:
		return c.keyEvent(ev)
	}
	return true
}

// keyEvent is accountEvent for keys and tokens.
func (c *checker) keyEvent(ev Event) bool {
	switch e := ev.(type) {
	case *KeyCreated:
		c.keyCreated(e)
	case *KeyDeleted:
		c.accountID("key", string(e.ID))
		c.accountID("user", string(e.User))
		c.by(e.By, e.At)
	case *TokenMinted:
		c.tokenMinted(e)
	case *TokenRevoked:
		c.accountID("token", string(e.Token))
		c.by(e.By, e.At)
	default:
		return false
	}
	return true
}

func (c *checker) userCreated(e *UserCreated) {
	c.accountID("user", string(e.User))
	c.email("email", e.Email)
	c.text("name", e.Name, 0, account.MaxNameBytes)
	c.role("role", e.Role)
	if e.State != account.StatePending && e.State != account.StateActive {
		c.failf("state: %.80q, want %q or %q", string(e.State), account.StatePending, account.StateActive)
	}
	if e.PasswordHash != "" {
		c.passwordHash("passwordHash", e.PasswordHash)
	}
	if e.Identity != nil {
		c.identity("identity", e.Identity)
	}
	c.optionalID("invitation", string(e.Invitation))
	c.by(e.By, e.At)
}

// userChanged wants the field that the change needs, and no other.
func (c *checker) userChanged(e *UserChanged) {
	c.accountID("user", string(e.User))
	rest := *e
	switch e.Change {
	case UserApproved, UserSuspended, UserReinstated:
	case UserRoleChanged:
		c.role("role", e.Role)
		rest.Role = ""
	case UserRenamed: // no name takes the name away
		c.text("name", e.Name, 0, account.MaxNameBytes)
		rest.Name = ""
	case UserPasswordChanged, UserPasswordRehash:
		c.passwordHash("passwordHash", e.PasswordHash)
		rest.PasswordHash = ""
	case UserIdentityLinked:
		c.identity("identity", e.Identity)
		rest.Identity = nil
	default:
		c.failf("change: %.80q is unknown", string(e.Change))
	}
	if rest.Role != "" || rest.Name != "" || rest.PasswordHash != "" || rest.Identity != nil {
		c.failf("change: %s has a field that is not its own", e.Change)
	}
	c.by(e.By, e.At)
}

func (c *checker) invitationCreated(e *InvitationCreated) {
	c.accountID("invitation", string(e.Invitation))
	c.lowerHex("hash", e.Hash, 64)
	if e.Email != "" {
		c.email("email", e.Email)
	}
	c.role("role", e.Role)
	c.expiry(e.ExpiresAt, e.At)
	c.by(e.By, e.At)
}

func (c *checker) sessionStarted(e *SessionStarted) {
	c.accountID("session", string(e.Session))
	c.accountID("user", string(e.User))
	c.lowerHex("hash", e.Hash, 64)
	c.expiry(e.ExpiresAt, e.At)
	c.optionalID("replaces", string(e.Replaces))
	c.text("method", e.Method, 1, MaxMethodBytes)
	c.by(e.By, e.At)
}

func (c *checker) keyCreated(e *KeyCreated) {
	c.accountID("key", string(e.ID))
	c.accountID("user", string(e.User))
	c.text("name", e.Name, 1, account.MaxKeyNameBytes)
	c.text("prefix", e.Prefix, len(account.PrefixKey), MaxKeyPrefixBytes)
	if !strings.HasPrefix(e.Prefix, account.PrefixKey) {
		c.failf("prefix: %.80q, want one that begins with %s", e.Prefix, account.PrefixKey)
	}
	if e.ShownPrefix != "" && (len(e.ShownPrefix) > MaxKeyPrefixBytes || !strings.HasPrefix(e.ShownPrefix, account.PublicPrefixKey)) {
		c.failf("shownPrefix: %.80q, want at most %d bytes that begin with %s", e.ShownPrefix, MaxKeyPrefixBytes, account.PublicPrefixKey)
	}
	c.lowerHex("hash", e.Hash, 64)
	if len(e.Scopes) == 0 {
		c.failf("scopes: want at least one")
	}
	for i, s := range e.Scopes {
		if !s.Valid() {
			c.failf("scopes: %.80q is unknown", string(s))
		}
		for _, earlier := range e.Scopes[:i] {
			if earlier == s {
				c.failf("scopes: %q occurs twice", string(s))
				return
			}
		}
	}
	c.restriction(e.Repositories)
	if !e.ExpiresAt.IsZero() {
		c.expiry(e.ExpiresAt, e.At)
	}
	c.by(e.By, e.At)
}

func (c *checker) tokenMinted(e *TokenMinted) {
	c.accountID("token", string(e.Token))
	c.accountID("key", string(e.MintedBy))
	c.accountID("user", string(e.User))
	c.lowerHex("hash", e.Hash, 64)
	if len(e.Repositories) == 0 {
		c.failf("repositories: want at least one")
	}
	c.restriction(e.Repositories)
	c.expiry(e.ExpiresAt, e.At)
	c.by(e.By, e.At)
}

func (c *checker) accessChanged(e *AccessChanged) {
	c.repositoryID(e.ID)
	if e.Visibility != "" && !e.Visibility.Valid() {
		c.failf("visibility: %.80q is unknown", string(e.Visibility))
	}
	if len(e.Members) > MaxMembers {
		c.failf("members: %d, at most %d", len(e.Members), MaxMembers)
		return
	}
	for _, id := range e.Members {
		c.accountID("members", string(id))
	}
	c.by(e.By, e.At)
}

func (c *checker) activityNoted(e *ActivityNoted) {
	if len(e.Users) > MaxActivity || len(e.Keys) > MaxActivity {
		c.failf("users and keys: %d and %d, at most %d", len(e.Users), len(e.Keys), MaxActivity)
		return
	}
	for id, seen := range e.Users {
		c.accountID("users", string(id))
		c.timeSet("users", seen)
	}
	for id, seen := range e.Keys {
		c.accountID("keys", string(id))
		c.timeSet("keys", seen)
	}
	c.timeSet("at", e.At)
}

// by checks who did it and when.
func (c *checker) by(who account.Actor, at time.Time) {
	c.actor("by", who)
	c.timeSet("at", at)
}

func (c *checker) actor(field string, a account.Actor) {
	switch a.Kind {
	case account.ActorAnonymous, account.ActorOperator, account.ActorSystem:
		c.optionalID(field+".user", string(a.User))
	case account.ActorUser, account.ActorKey, account.ActorToken:
		c.accountID(field+".user", string(a.User))
	default:
		c.failf("%s.kind: %.80q is unknown", field, string(a.Kind))
	}
	c.text(field+".credential", a.Credential, 0, MaxCredentialBytes)
	c.text(field+".address", a.Address, 0, MaxAddressBytes)
	c.text(field+".client", a.Client, 0, account.MaxClientBytes)
}

const idCharacters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-"

func (c *checker) accountID(field, id string) {
	c.text(field, id, 1, MaxAccountIDBytes)
	if strings.Trim(id, idCharacters) != "" {
		c.failf("%s: %.80q, want letters, digits, '-' and '_'", field, id)
	}
}

func (c *checker) optionalID(field, id string) {
	if id != "" {
		c.accountID(field, id)
	}
}

// email checks that an address is in lower case and has one '@' with something
// before and after it. Whether mail gets there, nobody can see.
func (c *checker) email(field, s string) {
	c.text(field, s, 3, account.MaxEmailBytes)
	local, domain, _ := strings.Cut(s, "@")
	if local == "" || domain == "" || strings.ContainsAny(s, " ") || strings.Contains(domain, "@") {
		c.failf("%s: %.80q is no e-mail address", field, s)
	}
	if s != strings.ToLower(s) {
		c.failf("%s: %.80q is not in lower case", field, s)
	}
}

func (c *checker) role(field string, r account.Role) {
	if !r.Valid() {
		c.failf("%s: %.80q is unknown", field, string(r))
	}
}

// passwordHash checks for the PHC string format, and never repeats the hash.
func (c *checker) passwordHash(field, s string) {
	if len(s) > MaxPasswordHashBytes {
		c.failf("%s: %d bytes, at most %d", field, len(s), MaxPasswordHashBytes)
	}
	rest, found := strings.CutPrefix(s, "$argon2id$")
	if !found || rest == "" || strings.ContainsFunc(rest, func(r rune) bool { return r <= ' ' || r > '~' }) {
		c.failf("%s: want an argon2id hash in PHC string format", field)
	}
}

func (c *checker) identity(field string, id *account.Identity) {
	if id == nil {
		c.failf("%s: is missing", field)
		return
	}
	c.text(field+".issuer", id.Issuer, 1, code.MaxURLBytes)
	c.text(field+".subject", id.Subject, 1, MaxSubjectBytes)
}

func (c *checker) restriction(ids []code.RepositoryID) {
	if len(ids) > MaxRestriction {
		c.failf("repositories: %d, at most %d", len(ids), MaxRestriction)
		return
	}
	for _, id := range ids {
		c.repositoryID(id)
	}
}

// timeSet checks that t is a time that can be written, and not the zero one.
func (c *checker) timeSet(field string, t time.Time) {
	if t.IsZero() {
		c.failf("%s: no time", field)
	}
	c.time(field, t)
}

// expiry checks that what begins at one time ends after it.
func (c *checker) expiry(end, at time.Time) {
	c.timeSet("expiresAt", end)
	if !end.After(at) {
		c.failf("expiresAt: %s is not after at", end.UTC().Format(time.RFC3339))
	}
}
