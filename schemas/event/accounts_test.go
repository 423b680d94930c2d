package event

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
)

const samplePasswordHash = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g"

func fullActor() account.Actor {
	return account.Actor{
		Kind: account.ActorUser, User: "u01", Credential: "s01", Address: "2001:db8::7", Client: "quarry/1.2 (linux)",
	}
}

// fullAccountEvents returns the events of accounts and audit, with all fields set that do
// not exclude each other.
func fullAccountEvents() []Event {
	now, later := parseTime("2026-11-21T12:00:00.5Z"), parseTime("2026-12-21T12:00:00Z")
	hash, by := strings.Repeat("5a", 32), fullActor()
	identity := account.Identity{Issuer: "https://id.example.com/realms/acme", Subject: "248289761001"}
	return []Event{
		&UserCreated{
			User: "u02", Email: "zoë@example.com", Name: "Zoë", Role: account.RoleOwner, State: account.StateActive,
			PasswordHash: samplePasswordHash, Identity: &identity, Invitation: "i01", FirstOwner: true, By: by, At: now,
		},
		&UserChanged{User: "u02", Change: UserIdentityLinked, Identity: &identity, By: by, At: now},
		&UserRemoved{User: "u02", By: by, At: now},
		&InvitationCreated{
			Invitation: "i01", Hash: hash, Email: "zoë@example.com", Role: account.RoleMember, ExpiresAt: later, By: by, At: now,
		},
		&InvitationRevoked{Invitation: "i01", By: by, At: now},
		&SessionStarted{
			Session: "s02", User: "u02", Hash: hash, ExpiresAt: later, Replaces: "s01", Method: "rotation", By: by, At: now,
			Provider: &ProviderClaims{Issuer: identity.Issuer, HostUser: &identity, EmailVerified: true},
		},
		&SessionEnded{User: "u02", Session: "s02", By: by, At: now},
		&KeyCreated{
			ID: "k01", User: "u02", Name: "continuous integration", Prefix: "qk_5a5a5a", ShownPrefix: "sbk_5a5a5a", Hash: hash,
			Scopes: []account.Scope{account.ScopeSearch, account.ScopeGit}, Scip: true, Repositories: []code.RepositoryID{3141592653589793},
			ExpiresAt: later, By: by, At: now,
		},
		&KeyDeleted{ID: "k01", User: "u02", By: by, At: now},
		&TokenMinted{
			Token: "t01", MintedBy: "k01", User: "u02", Hash: hash, Repositories: []code.RepositoryID{3141592653589793},
			ExpiresAt: later, By: by, At: now,
		},
		&TokenRevoked{Token: "t01", By: by, At: now},
		&AccessChanged{
			ID: 3141592653589793, Visibility: account.Private, Members: []account.UserID{"u02", "u03"}, By: by, At: now,
		},
		&ActivityNoted{Users: map[account.UserID]time.Time{"u02": now}, Keys: map[account.KeyID]time.Time{"k01": now}, At: now},
		&AuditRecorded{Records: []audit.Record{{
			At: now, Action: audit.FetchedSource, Actor: by, TargetType: audit.TargetFile, Target: "github.com/acme/anvil:cmd/main.go",
			RequestID: "01JD8Z", Status: 200, Metadata: map[string]string{"ref": "main"},
		}}},
		&AuditSealed{
			Chains: []ChainHead{{TopicAccounts, 3, 4, hash}, {TopicAudit, 17, 18, hash}}, SealKey: hash[:16], MAC: hash, At: now,
		},
		&NumbersAssigned{Repositories: []code.RepositoryID{3141592653589793, 1}, Connections: []string{"acme"}, At: now},
		&SavedSearchChanged{
			Search: "q01", User: "u02", Change: SavedSearchCreated, Name: "open handles", Query: "lang:go\nos\\.Open", Regexp: true, CaseSensitive: true, Shared: true,
			By: by, At: now,
		},
		&HostAccessRead{ID: 3141592653589793, Connection: "hub", Users: []string{"1042", "77"}, Emails: []string{"zoë@example.com"}, At: now},
		&HostAccessConfirmed{Connection: "hub", Repositories: []code.RepositoryID{271828182845904, 3141592653589793}, At: now},
		&HostAccessDoubted{Connection: "hub", ID: 3141592653589793, Removed: "1042", At: now},
		&StoreIdentified{Store: hash[:32], Replaces: strings.Repeat("0f", 16), At: now},
	}
}

// minimalAccountEvents returns the same events with required fields only.
func minimalAccountEvents() []Event {
	now, later := parseTime("2026-11-21T12:00:00Z"), parseTime("2026-11-21T12:00:01Z")
	hash, by := strings.Repeat("0", 64), account.Actor{Kind: account.ActorSystem}
	return []Event{
		&UserCreated{User: "u", Email: "a@b", Role: account.RoleMember, State: account.StatePending, By: by, At: now},
		&UserChanged{User: "u", Change: UserApproved, By: by, At: now},
		&UserRemoved{User: "u", By: by, At: now},
		&InvitationCreated{Invitation: "i", Hash: hash, Role: account.RoleMember, ExpiresAt: later, By: by, At: now},
		&InvitationRevoked{Invitation: "i", By: by, At: now},
		&SessionStarted{Session: "s", User: "u", Hash: hash, ExpiresAt: later, Method: "oidc", By: by, At: now},
		&SessionEnded{User: "u", By: by, At: now},
		&KeyCreated{
			ID: "k", User: "u", Name: "x", Prefix: "qk_", Hash: hash, Scopes: []account.Scope{account.ScopeAdmin}, By: by, At: now,
		},
		&KeyDeleted{ID: "k", User: "u", By: by, At: now},
		&TokenMinted{Token: "t", MintedBy: "k", User: "u", Hash: hash, Repositories: []code.RepositoryID{1}, ExpiresAt: later, By: by, At: now},
		&TokenRevoked{Token: "t", By: by, At: now},
		&AccessChanged{ID: 1, By: by, At: now},
		&ActivityNoted{At: now},
		&AuditRecorded{Records: []audit.Record{{At: now, Action: "x", Actor: by, TargetType: audit.TargetInstance}}},
		&AuditSealed{Chains: []ChainHead{{Topic: "t", Records: 1, Hash: hash}}, SealKey: hash[:16], MAC: hash, At: now},
		&NumbersAssigned{Connections: []string{"x"}, At: now},
		&SavedSearchChanged{Search: "q", User: "u", Change: SavedSearchDeleted, By: by, At: now},
		&HostAccessRead{ID: 1, Connection: "x", At: now},
		&HostAccessConfirmed{Connection: "x", Repositories: []code.RepositoryID{1}, At: now},
		&HostAccessDoubted{Connection: "x", At: now},
		&StoreIdentified{Store: hash[:32], At: now},
	}
}

// otherEvents returns events with the fields that the events of fullEvents exclude.
func otherEvents() []Event {
	indexed := *fullEvents()[4].(*RevisionIndexed)
	indexed.Changes, indexed.ChangesObject = nil, "x"
	changed := func(change func(*UserChanged)) Event {
		e := UserChanged{User: "u02", By: fullActor(), At: parseTime("2026-11-21T12:00:00Z")}
		change(&e)
		return &e
	}
	return []Event{
		&indexed,
		&ErasureRequested{Repository: 3141592653589793, Path: "deploy/secrets", At: parseTime("2026-11-21T10:00:00Z")},
		changed(func(e *UserChanged) { e.Change, e.Role = UserRoleChanged, account.RoleOwner }),
		changed(func(e *UserChanged) { e.Change, e.Name = UserRenamed, "Zoë" }),
		changed(func(e *UserChanged) {
			e.Change, e.PasswordHash, e.Replaces = UserPasswordChanged, samplePasswordHash, samplePasswordHash
		}),
	}
}

// TestInvalidAccounts breaks one rule of a valid event at a time.
func TestInvalidAccounts(t *testing.T) {
	type test struct {
		want string
		ev   Event
	}
	tests := map[string]test{}
	add := func(name, want string, ev Event) { tests[name] = test{want, ev} }
	full := fullAccountEvents()
	user := func(name, want string, change func(*UserCreated)) {
		e := *full[0].(*UserCreated)
		change(&e)
		add(name, want, &e)
	}
	changed := func(name, want string, change func(*UserChanged)) {
		e := *full[1].(*UserChanged)
		change(&e)
		add(name, want, &e)
	}
	session := func(name, want string, change func(*SessionStarted)) {
		e := *full[5].(*SessionStarted)
		change(&e)
		add(name, want, &e)
	}
	key := func(name, want string, change func(*KeyCreated)) {
		e := *full[7].(*KeyCreated)
		change(&e)
		add(name, want, &e)
	}
	token := func(name, want string, change func(*TokenMinted)) {
		e := *full[9].(*TokenMinted)
		change(&e)
		add(name, want, &e)
	}
	access := func(name, want string, change func(*AccessChanged)) {
		e := *full[11].(*AccessChanged)
		change(&e)
		add(name, want, &e)
	}
	hosts := func(name, want string, change func(*HostAccessRead)) {
		e := *full[17].(*HostAccessRead)
		change(&e)
		add(name, want, &e)
	}
	record := func(name, want string, change func(*audit.Record)) {
		r := full[13].(*AuditRecorded).Records[0]
		change(&r)
		add(name, want, &AuditRecorded{Records: []audit.Record{r}})
	}

	hosts("no connection of the host", "connection", func(e *HostAccessRead) { e.Connection = "" })
	hosts("a user without a name", "users", func(e *HostAccessRead) { e.Users = []string{""} })
	hosts("too many users of a host", "users", func(e *HostAccessRead) { e.Users = make([]string, MaxHostUsers+1) })
	hosts("an address in upper case", "emails", func(e *HostAccessRead) { e.Emails = []string{"A@example.com"} })
	hosts("never read", "at", func(e *HostAccessRead) { e.At = time.Time{} })
	add("nothing confirmed", "repositories", &HostAccessConfirmed{Connection: "x", At: full[17].(*HostAccessRead).At})
	add("doubted by nobody", "connection", &HostAccessDoubted{At: full[17].(*HostAccessRead).At})

	user("no user", "user", func(e *UserCreated) { e.User = "" })
	user("long ID", "user", func(e *UserCreated) { e.User = account.UserID(strings.Repeat("u", MaxAccountIDBytes+1)) })
	user("ID with a slash", "user", func(e *UserCreated) { e.User = "a/b" })
	user("no e-mail", "email", func(e *UserCreated) { e.Email = "" })
	user("e-mail without domain", "email", func(e *UserCreated) { e.Email = "zoe@" })
	user("e-mail of two", "email", func(e *UserCreated) { e.Email = "a@b@c" })
	user("e-mail in upper case", "lower case", func(e *UserCreated) { e.Email = "Zoe@example.com" })
	user("long e-mail", "email", func(e *UserCreated) { e.Email = "a@" + strings.Repeat("b", account.MaxEmailBytes) })
	user("long name", "name", func(e *UserCreated) { e.Name = strings.Repeat("x", account.MaxNameBytes+1) })
	user("no role", "role", func(e *UserCreated) { e.Role = "" })
	user("created suspended", "state", func(e *UserCreated) { e.State = account.StateSuspended })
	user("a password", "passwordHash", func(e *UserCreated) { e.PasswordHash = "hunter2" })
	user("long hash", "passwordHash", func(e *UserCreated) { e.PasswordHash = "$argon2id$" + strings.Repeat("x", MaxPasswordHashBytes) })
	user("no issuer", "identity.issuer", func(e *UserCreated) { e.Identity = &account.Identity{Subject: "1"} })
	user("long subject", "identity.subject", func(e *UserCreated) {
		e.Identity = &account.Identity{Issuer: "x", Subject: strings.Repeat("1", MaxSubjectBytes+1)}
	})
	user("no time", "at", func(e *UserCreated) { e.At = time.Time{} })
	user("no actor", "by.kind", func(e *UserCreated) { e.By = account.Actor{} })
	user("a key of nobody", "by.user", func(e *UserCreated) { e.By = account.Actor{Kind: account.ActorKey} })
	user("long client", "by.client", func(e *UserCreated) { e.By.Client = strings.Repeat("x", account.MaxClientBytes+1) })
	changed("unknown change", "change", func(e *UserChanged) { e.Change = "promoted" })
	changed("no identity", "identity", func(e *UserChanged) { e.Identity = nil })
	changed("a field of another change", "change", func(e *UserChanged) { e.Change = UserSuspended })
	changed("two fields", "change", func(e *UserChanged) { e.Name = "x" })
	changed("no role to change to", "role", func(e *UserChanged) { e.Change, e.Identity = UserRoleChanged, nil })
	changed("no password", "passwordHash", func(e *UserChanged) { e.Change, e.Identity = UserPasswordChanged, nil })
	changed("a replaced hash of a name", "change", func(e *UserChanged) { e.Replaces = samplePasswordHash })
	changed("a replaced password", "replaces", func(e *UserChanged) {
		e.Change, e.Identity, e.PasswordHash, e.Replaces = UserPasswordChanged, nil, samplePasswordHash, "hunter2"
	})
	session("hash in upper case", "hash", func(e *SessionStarted) { e.Hash = strings.Repeat("5A", 32) })
	session("ends before it begins", "expiresAt", func(e *SessionStarted) { e.ExpiresAt = e.At })
	session("no end", "expiresAt", func(e *SessionStarted) { e.ExpiresAt = time.Time{} })
	session("no method", "method", func(e *SessionStarted) { e.Method = "" })
	key("no name", "name", func(e *KeyCreated) { e.Name = "" })
	key("prefix of something else", "prefix", func(e *KeyCreated) { e.Prefix = "qt_5a5a5a" })
	key("the whole value", "prefix", func(e *KeyCreated) { e.Prefix = "qk_" + strings.Repeat("5a", 32) })
	key("shown prefix of something else", "shownPrefix", func(e *KeyCreated) { e.ShownPrefix = "sbst_5a5a5a" })
	key("the whole value shown", "shownPrefix", func(e *KeyCreated) { e.ShownPrefix = "sbk_" + strings.Repeat("5a", 32) })
	key("no scope", "scopes", func(e *KeyCreated) { e.Scopes = nil })
	key("a scope that is a field", "scopes", func(e *KeyCreated) { e.Scopes = []account.Scope{account.ScopeScip} })
	key("unknown scope", "scopes", func(e *KeyCreated) { e.Scopes = []account.Scope{"all"} })
	key("a scope twice", "scopes", func(e *KeyCreated) { e.Scopes = []account.Scope{account.ScopeGit, account.ScopeGit} })
	key("many repositories", "repositories", func(e *KeyCreated) { e.Repositories = make([]code.RepositoryID, MaxRestriction+1) })
	token("no repository", "repositories", func(e *TokenMinted) { e.Repositories = nil })
	token("repository 0", "repository", func(e *TokenMinted) { e.Repositories = []code.RepositoryID{0} })
	access("unknown visibility", "visibility", func(e *AccessChanged) { e.Visibility = "secret" })
	access("many members", "members", func(e *AccessChanged) { e.Members = make([]account.UserID, MaxMembers+1) })
	access("no member", "members", func(e *AccessChanged) { e.Members = []account.UserID{""} })
	add("seen at no time", "users", &ActivityNoted{Users: map[account.UserID]time.Time{"u": {}}, At: parseTime("2026-11-21T12:00:00Z")})
	add("no records", "records", &AuditRecorded{})
	add("many records", "records", &AuditRecorded{Records: make([]audit.Record, MaxAuditRecords+1)})
	record("no action", "records.action", func(r *audit.Record) { r.Action = "" })
	record("status", "records.status", func(r *audit.Record) { r.Status = 1000 })
	record("long target", "records.target", func(r *audit.Record) { r.Target = strings.Repeat("x", audit.MaxTargetBytes+1) })
	record("target not UTF-8", "records.target", func(r *audit.Record) { r.Target = "\xff" })
	record("long metadata", "records.metadata", func(r *audit.Record) {
		r.Metadata = map[string]string{"query": strings.Repeat("x", audit.MaxMetadataBytes+1)}
	})
	seal := func(name, want string, change func(*AuditSealed)) {
		e := *full[14].(*AuditSealed)
		e.Chains = slices.Clone(e.Chains)
		change(&e)
		add(name, want, &e)
	}
	seal("no chains", "chains", func(e *AuditSealed) { e.Chains = nil })
	seal("many chains", "chains", func(e *AuditSealed) { e.Chains = make([]ChainHead, MaxSealedChains+1) })
	seal("no topic", "chains.topic", func(e *AuditSealed) { e.Chains[0].Topic = "" })
	seal("no records sealed", "chains.records", func(e *AuditSealed) { e.Chains[0].Records = 0 })
	seal("a short hash", "chains.hash", func(e *AuditSealed) { e.Chains[0].Hash = "5a" })
	seal("no MAC", "mac", func(e *AuditSealed) { e.MAC = "" })
	numbers := func(name, want string, change func(*NumbersAssigned)) {
		e := *full[15].(*NumbersAssigned)
		change(&e)
		add(name, want, &e)
	}
	numbers("nothing to number", "at least one", func(e *NumbersAssigned) { e.Repositories, e.Connections = nil, nil })
	numbers("many repositories to number", "at most", func(e *NumbersAssigned) { e.Repositories = make([]code.RepositoryID, MaxNumbered+1) })
	numbers("many connections to number", "at most", func(e *NumbersAssigned) { e.Connections = make([]string, MaxNumbered+1) })
	numbers("no repository to number", "repository", func(e *NumbersAssigned) { e.Repositories = []code.RepositoryID{0} })
	numbers("no connection to number", "connections", func(e *NumbersAssigned) { e.Connections = []string{""} })
	numbers("long connection", "connections", func(e *NumbersAssigned) { e.Connections = []string{strings.Repeat("x", MaxConnectionBytes+1)} })
	numbers("numbered at no time", "at", func(e *NumbersAssigned) { e.At = time.Time{} })
	identity := strings.Repeat("0f", 16)
	add("no identity", "store", &StoreIdentified{At: time.Unix(1, 0)})
	add("identity in capitals", "store", &StoreIdentified{Store: strings.ToUpper(identity), At: time.Unix(1, 0)})
	add("identity that replaces itself", "replaces", &StoreIdentified{Store: identity, Replaces: identity, At: time.Unix(1, 0)})
	add("short replaced identity", "replaces", &StoreIdentified{Store: identity, Replaces: "0f", At: time.Unix(1, 0)})
	add("identified at no time", "at", &StoreIdentified{Store: identity})
	saved := func(name, want string, change func(*SavedSearchChanged)) {
		e := *full[16].(*SavedSearchChanged)
		change(&e)
		add(name, want, &e)
	}
	saved("no search", "search", func(e *SavedSearchChanged) { e.Search = "" })
	saved("no name of a search", "name", func(e *SavedSearchChanged) { e.Name = "" })
	saved("no query", "query", func(e *SavedSearchChanged) { e.Query = "" })
	saved("long query", "query", func(e *SavedSearchChanged) { e.Query = strings.Repeat("x", account.MaxSavedQueryBytes+1) })
	saved("query with a control character", "query", func(e *SavedSearchChanged) { e.Query = "a\x00b" })
	saved("unknown change of a search", "change", func(e *SavedSearchChanged) { e.Change = "renamed" })
	saved("deleted with a name", "change", func(e *SavedSearchChanged) { e.Change = SavedSearchDeleted })
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Encode(sampleEnvelope(), test.ev)
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("Encode: %v, want ErrInvalid naming %q", err, test.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error repeats a credential: %v", err)
			}
			value, err := encodeValue(test.ev)
			if err != nil {
				t.Fatal(err)
			}
			env := sampleEnvelope()
			env.Type, env.Subject = test.ev.EventType(), subjectOf(test.ev)
			// encoding/json replaces invalid UTF-8, so that the value can be read.
			_, _, err = Decode(Record{Value: value, Headers: headersOf(env)})
			if !errors.Is(err, ErrInvalid) && name != "target not UTF-8" {
				t.Errorf("Decode: %v, want ErrInvalid", err)
			}
		})
	}
}
