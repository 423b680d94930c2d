package event

import (
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

func (c *checker) checkUserRemoved(e *UserRemoved) {
	c.checkAccountID("user", string(e.User))
	c.checkActorAndTime(e.By, e.At)
}

func (c *checker) checkInvitationRevoked(e *InvitationRevoked) {
	c.checkAccountID("invitation", string(e.Invitation))
	c.checkActorAndTime(e.By, e.At)
}

func (c *checker) checkSessionEnded(e *SessionEnded) {
	c.checkAccountID("user", string(e.User))
	c.checkOptionalID("session", string(e.Session))
	c.checkActorAndTime(e.By, e.At)
}

func (c *checker) checkKeyDeleted(e *KeyDeleted) {
	c.checkAccountID("key", string(e.ID))
	c.checkAccountID("user", string(e.User))
	c.checkActorAndTime(e.By, e.At)
}

func (c *checker) checkTokenRevoked(e *TokenRevoked) {
	c.checkAccountID("token", string(e.Token))
	c.checkActorAndTime(e.By, e.At)
}

func (c *checker) checkUserCreated(e *UserCreated) {
	c.checkAccountID("user", string(e.User))
	c.checkEmail("email", e.Email)
	c.checkText("name", e.Name, 0, account.MaxNameBytes)
	c.checkRole("role", e.Role)
	if e.State != account.StatePending && e.State != account.StateActive {
		c.addErrorf("state: %.80q, want %q or %q", string(e.State), account.StatePending, account.StateActive)
	}
	if e.PasswordHash != "" {
		c.checkPasswordHash("passwordHash", e.PasswordHash)
	}
	if e.Identity != nil {
		c.checkIdentity("identity", e.Identity)
	}
	c.checkOptionalID("invitation", string(e.Invitation))
	c.checkActorAndTime(e.By, e.At)
}

// checkUserChanged requires the field that the change needs, and rejects all others.
func (c *checker) checkUserChanged(e *UserChanged) {
	c.checkAccountID("user", string(e.User))
	rest := *e
	switch e.Change {
	case UserApproved, UserSuspended, UserReinstated:
	case UserRoleChanged:
		c.checkRole("role", e.Role)
		rest.Role = ""
	case UserRenamed: // an empty name removes the name
		c.checkText("name", e.Name, 0, account.MaxNameBytes)
		rest.Name = ""
	case UserPasswordChanged, UserPasswordRehash:
		c.checkPasswordHash("passwordHash", e.PasswordHash)
		if e.Replaces != "" {
			c.checkPasswordHash("replaces", e.Replaces)
		}
		rest.PasswordHash, rest.Replaces = "", ""
	case UserIdentityLinked:
		c.checkIdentity("identity", e.Identity)
		rest.Identity = nil
	default:
		c.addErrorf("change: %.80q is unknown", string(e.Change))
	}
	if rest.Role != "" || rest.Name != "" || rest.PasswordHash != "" || rest.Replaces != "" || rest.Identity != nil {
		c.addErrorf("change: %s has a field that is not its own", e.Change)
	}
	c.checkActorAndTime(e.By, e.At)
}

func (c *checker) checkInvitationCreated(e *InvitationCreated) {
	c.checkAccountID("invitation", string(e.Invitation))
	c.checkLowerHex("hash", e.Hash, 64)
	if e.Email != "" {
		c.checkEmail("email", e.Email)
	}
	c.checkRole("role", e.Role)
	c.checkExpiry(e.ExpiresAt, e.At)
	c.checkActorAndTime(e.By, e.At)
}

func (c *checker) checkSessionStarted(e *SessionStarted) {
	c.checkAccountID("session", string(e.Session))
	c.checkAccountID("user", string(e.User))
	c.checkLowerHex("hash", e.Hash, 64)
	c.checkExpiry(e.ExpiresAt, e.At)
	c.checkOptionalID("replaces", string(e.Replaces))
	c.checkText("method", e.Method, 1, MaxMethodBytes)
	if e.Provider != nil {
		c.checkText("provider.issuer", e.Provider.Issuer, 1, code.MaxURLBytes)
		if e.Provider.HostUser != nil {
			c.checkIdentity("provider.hostUser", e.Provider.HostUser)
		}
	}
	c.checkActorAndTime(e.By, e.At)
}

func (c *checker) checkKeyCreated(e *KeyCreated) {
	c.checkAccountID("key", string(e.ID))
	c.checkAccountID("user", string(e.User))
	c.checkText("name", e.Name, 1, account.MaxKeyNameBytes)
	c.checkText("prefix", e.Prefix, len(account.PrefixKey), MaxKeyPrefixBytes)
	if !strings.HasPrefix(e.Prefix, account.PrefixKey) {
		c.addErrorf("prefix: %.80q, want one that begins with %s", e.Prefix, account.PrefixKey)
	}
	if e.ShownPrefix != "" && (len(e.ShownPrefix) > MaxKeyPrefixBytes || !strings.HasPrefix(e.ShownPrefix, account.PublicPrefixKey)) {
		c.addErrorf("shownPrefix: %.80q, want at most %d bytes that begin with %s", e.ShownPrefix, MaxKeyPrefixBytes, account.PublicPrefixKey)
	}
	c.checkLowerHex("hash", e.Hash, 64)
	if len(e.Scopes) == 0 {
		c.addErrorf("scopes: want at least one")
	}
	for i, s := range e.Scopes {
		if !s.Valid() || s == account.ScopeScip { // ScopeScip is set in the field scip
			c.addErrorf("scopes: %.80q is unknown", string(s))
		}
		for _, earlier := range e.Scopes[:i] {
			if earlier == s {
				c.addErrorf("scopes: %q occurs twice", string(s))
				return
			}
		}
	}
	c.checkRestriction(e.Repositories)
	if !e.ExpiresAt.IsZero() {
		c.checkExpiry(e.ExpiresAt, e.At)
	}
	c.checkActorAndTime(e.By, e.At)
}

func (c *checker) checkTokenMinted(e *TokenMinted) {
	c.checkAccountID("token", string(e.Token))
	c.checkAccountID("key", string(e.MintedBy))
	c.checkAccountID("user", string(e.User))
	c.checkLowerHex("hash", e.Hash, 64)
	if len(e.Repositories) == 0 {
		c.addErrorf("repositories: want at least one")
	}
	c.checkRestriction(e.Repositories)
	c.checkExpiry(e.ExpiresAt, e.At)
	c.checkActorAndTime(e.By, e.At)
}

func (c *checker) checkAccessChanged(e *AccessChanged) {
	c.checkRepositoryID(e.ID)
	if e.Visibility != "" && !e.Visibility.Valid() {
		c.addErrorf("visibility: %.80q is unknown", string(e.Visibility))
	}
	if len(e.Members) > MaxMembers {
		c.addErrorf("members: %d, at most %d", len(e.Members), MaxMembers)
		return
	}
	for _, id := range e.Members {
		c.checkAccountID("members", string(id))
	}
	c.checkActorAndTime(e.By, e.At)
}

func (c *checker) checkActivityNoted(e *ActivityNoted) {
	if len(e.Users) > MaxActivity || len(e.Keys) > MaxActivity {
		c.addErrorf("users and keys: %d and %d, at most %d", len(e.Users), len(e.Keys), MaxActivity)
		return
	}
	for id, seen := range e.Users {
		c.checkAccountID("users", string(id))
		c.checkTimeSet("users", seen)
	}
	for id, seen := range e.Keys {
		c.checkAccountID("keys", string(id))
		c.checkTimeSet("keys", seen)
	}
	c.checkTimeSet("at", e.At)
}

// checkActorAndTime checks the actor and the time.
func (c *checker) checkActorAndTime(who account.Actor, at time.Time) {
	c.checkActor("by", who)
	c.checkTimeSet("at", at)
}

func (c *checker) checkActor(field string, a account.Actor) {
	switch a.Kind {
	case account.ActorAnonymous, account.ActorOperator, account.ActorSystem:
		c.checkOptionalID(field+".user", string(a.User))
	case account.ActorUser, account.ActorKey, account.ActorToken:
		c.checkAccountID(field+".user", string(a.User))
	default:
		c.addErrorf("%s.kind: %.80q is unknown", field, string(a.Kind))
	}
	c.checkText(field+".credential", a.Credential, 0, MaxCredentialBytes)
	c.checkText(field+".address", a.Address, 0, MaxAddressBytes)
	c.checkText(field+".client", a.Client, 0, account.MaxClientBytes)
}

const idCharacters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-"

func (c *checker) checkAccountID(field, id string) {
	c.checkText(field, id, 1, MaxAccountIDBytes)
	if strings.Trim(id, idCharacters) != "" {
		c.addErrorf("%s: %.80q, want letters, digits, '-' and '_'", field, id)
	}
}

func (c *checker) checkOptionalID(field, id string) {
	if id != "" {
		c.checkAccountID(field, id)
	}
}

// checkEmail checks that an address is in lower case and has exactly one '@' with text
// on both sides. It cannot check that the address receives mail.
func (c *checker) checkEmail(field, s string) {
	c.checkText(field, s, 3, account.MaxEmailBytes)
	local, domain, _ := strings.Cut(s, "@")
	if local == "" || domain == "" || strings.ContainsAny(s, " ") || strings.Contains(domain, "@") {
		c.addErrorf("%s: %.80q is no e-mail address", field, s)
	}
	if s != strings.ToLower(s) {
		c.addErrorf("%s: %.80q is not in lower case", field, s)
	}
}

func (c *checker) checkRole(field string, r account.Role) {
	if !r.Valid() {
		c.addErrorf("%s: %.80q is unknown", field, string(r))
	}
}

// checkPasswordHash checks for the PHC string format. Its error never repeats the hash.
func (c *checker) checkPasswordHash(field, s string) {
	if len(s) > MaxPasswordHashBytes {
		c.addErrorf("%s: %d bytes, at most %d", field, len(s), MaxPasswordHashBytes)
	}
	rest, found := strings.CutPrefix(s, "$argon2id$")
	if !found || rest == "" || strings.ContainsFunc(rest, func(r rune) bool { return r <= ' ' || r > '~' }) {
		c.addErrorf("%s: want an argon2id hash in PHC string format", field)
	}
}

func (c *checker) checkIdentity(field string, id *account.Identity) {
	if id == nil {
		c.addErrorf("%s: is missing", field)
		return
	}
	c.checkText(field+".issuer", id.Issuer, 1, code.MaxURLBytes)
	c.checkText(field+".subject", id.Subject, 1, MaxSubjectBytes)
}

func (c *checker) checkRestriction(ids []code.RepositoryID) {
	if len(ids) > MaxRestriction {
		c.addErrorf("repositories: %d, at most %d", len(ids), MaxRestriction)
		return
	}
	for _, id := range ids {
		c.checkRepositoryID(id)
	}
}

// checkTimeSet checks that t can be encoded and is not zero.
func (c *checker) checkTimeSet(field string, t time.Time) {
	if t.IsZero() {
		c.addErrorf("%s: no time", field)
	}
	c.checkTime(field, t)
}

// checkExpiry checks that end is after at.
func (c *checker) checkExpiry(end, at time.Time) {
	c.checkTimeSet("expiresAt", end)
	if !end.After(at) {
		c.addErrorf("expiresAt: %s is not after at", end.UTC().Format(time.RFC3339))
	}
}
