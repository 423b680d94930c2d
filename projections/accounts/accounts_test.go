package accounts_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/accounts"
	"github.com/quarrysearch/quarry/projections/projectiontest"
	"github.com/quarrysearch/quarry/projections/segmentstore"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/projections/store/storetest"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var start = time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC)

// rig is a Directory over an in-memory store to which tests apply events.
type rig struct {
	t       testing.TB
	memory  *storetest.Memory
	store   *store.Store
	dir     *accounts.Directory
	applier *projectiontest.Applier
	reg     *prometheus.Registry
	spoiler spoiler
	next    event.Offset
	now     time.Time
}

// spoiler is a projection after the Directory that fails as configured, so that the
// Directory's changes for the record are discarded.
type spoiler struct{ fail bool }

func (*spoiler) Name() string { return "spoiler" }

func (*spoiler) SchemaVersion() int { return 1 }

func (s *spoiler) Apply(context.Context, *store.Batch, event.Record) error {
	if s.fail {
		return projections.ErrPoison
	}
	return nil
}

func newRig(t testing.TB) *rig {
	r := &rig{t: t, memory: storetest.NewMemory(), now: start}
	r.open()
	t.Cleanup(r.close)
	return r
}

func (r *rig) open() {
	r.t.Helper()
	var err error
	r.store, err = store.Open("accounts", store.Options{FileSystem: r.memory.FileSystem(), CacheBytes: store.MinCacheBytes})
	must(r.t, err)
	decoder := projections.NewDecoder(nil)
	r.reg = prometheus.NewRegistry()
	r.dir, err = accounts.Open(accounts.Options{Store: r.store, Decoder: decoder, Registerer: r.reg})
	must(r.t, err)
	p := []projections.Projection{r.dir, &r.spoiler}
	must(r.t, projections.CheckSchema(r.store, p))
	r.applier = &projectiontest.Applier{Store: r.store, Decoder: decoder, Projections: p}
}

func (r *rig) close() {
	r.dir.Close()
	must(r.t, r.store.Close())
}

func (r *rig) reopen() { r.close(); r.open() }

func record(t testing.TB, offset event.Offset, ev event.Event) event.Record {
	t.Helper()
	rec, err := event.Encode(event.Envelope{ID: fmt.Sprint(offset), Source: "/test", Time: start}, ev)
	must(t, err)
	rec.Position, rec.Time = event.Position{Topic: event.TopicAccounts, Offset: offset}, start
	return rec
}

// apply applies an event and returns the reason why it had no effect.
func (r *rig) apply(ev event.Event) accounts.Refusal {
	r.t.Helper()
	rec := record(r.t, r.next, ev)
	r.next++
	must(r.t, r.applier.Apply(context.Background(), rec))
	why, ok := r.dir.Outcome(rec.Position)
	if !ok {
		r.t.Fatalf("nothing is known of %s, which was applied", rec.Position)
	}
	return why
}

// expectRefusal applies an event and checks the refusal.
func (r *rig) expectRefusal(why accounts.Refusal, ev event.Event) {
	r.t.Helper()
	if got := r.apply(ev); got != why {
		r.t.Errorf("%s: refused as %q, want %q", ev.EventType(), string(got), string(why))
	}
}

var system = account.Actor{Kind: account.ActorSystem}

func (r *rig) user(id account.UserID, role account.Role) *event.UserCreated {
	return &event.UserCreated{
		User: id, Email: string(id) + "@example.com", Role: role, State: account.StateActive, By: system, At: r.now,
	}
}

func (r *rig) changed(id account.UserID, change event.UserChange) *event.UserChanged {
	return &event.UserChanged{User: id, Change: change, By: system, At: r.now}
}

func hex64(id string) string { h := fmt.Sprintf("%x", id); return strings.Repeat("0", 64-len(h)) + h }

func (r *rig) session(id account.SessionID, user account.UserID) *event.SessionStarted {
	return &event.SessionStarted{
		Session: id, User: user, Hash: hex64(string(id)), ExpiresAt: r.now.Add(30 * 24 * time.Hour), Method: "password", By: system, At: r.now,
	}
}

func (r *rig) key(id account.KeyID, user account.UserID, name string) *event.KeyCreated {
	return &event.KeyCreated{
		ID: id, User: user, Name: name, Prefix: "qk_000000", Hash: hex64(string(id)), Scopes: []account.Scope{account.ScopeSearch}, By: system, At: r.now,
	}
}

func (r *rig) token(id account.TokenID, key account.KeyID, user account.UserID) *event.TokenMinted {
	return &event.TokenMinted{
		Token: id, MintedBy: key, User: user, Hash: hex64(string(id)), Repositories: []code.RepositoryID{1}, ExpiresAt: r.now.Add(time.Hour), By: system, At: r.now,
	}
}

func (r *rig) invitation(id account.InvitationID, email string) *event.InvitationCreated {
	return &event.InvitationCreated{
		Invitation: id, Hash: hex64(string(id)), Email: email, Role: account.RoleMember, ExpiresAt: r.now.Add(time.Hour), By: system, At: r.now,
	}
}

func TestUsersAreUnique(t *testing.T) {
	r := newRig(t)
	first := r.user("a", account.RoleOwner)
	first.FirstOwner = true
	first.Identity = &account.Identity{Issuer: "x", Subject: "1"}
	r.expectRefusal("", first)
	r.expectRefusal(accounts.IDTaken, first) // appended twice
	again := r.user("b", account.RoleOwner)
	again.FirstOwner = true
	r.expectRefusal(accounts.NotFirst, again)
	again.FirstOwner, again.Email = false, first.Email
	r.expectRefusal(accounts.EmailTaken, again)
	again.Email, again.Identity = "b@example.com", first.Identity
	r.expectRefusal(accounts.IdentityTaken, again)
	again.Identity = nil
	r.expectRefusal("", again)
	link := r.changed("b", event.UserIdentityLinked)
	link.Identity = first.Identity
	r.expectRefusal(accounts.IdentityTaken, link)
	link.Identity = &account.Identity{Issuer: "x", Subject: "2"}
	r.expectRefusal("", link)
	if u, found := r.dir.UserByIdentity(*link.Identity); !found || u.ID != "b" {
		t.Errorf("by identity: %+v, %t", u, found)
	}
	if u, found := r.dir.UserByEmail("a@example.com"); !found || u.ID != "a" {
		t.Errorf("by e-mail: %+v, %t", u, found)
	}
	if n := testutil.CollectAndCount(r.reg, "quarry_accounts_refused_total"); n == 0 {
		t.Error("refusals are not counted")
	}
}

func TestAnActiveOwnerStays(t *testing.T) {
	r := newRig(t)
	r.expectRefusal(accounts.NotOwner, func() event.Event { e := r.user("a", account.RoleMember); e.FirstOwner = true; return e }())
	r.expectRefusal("", r.user("a", account.RoleOwner))
	r.expectRefusal("", r.user("m", account.RoleMember))
	demote := r.changed("a", event.UserRoleChanged)
	demote.Role = account.RoleMember
	removed := &event.UserRemoved{User: "a", By: system, At: r.now}
	for _, ev := range []event.Event{demote, removed, r.changed("a", event.UserSuspended)} {
		r.expectRefusal(accounts.LastOwner, ev)
	}
	pending := r.user("b", account.RoleOwner)
	pending.State = account.StatePending
	r.expectRefusal("", pending)
	r.expectRefusal(accounts.LastOwner, demote) // a user who waits for approval does not count
	r.expectRefusal("", r.changed("b", event.UserApproved))
	r.expectRefusal(accounts.Unchanged, r.changed("b", event.UserApproved))
	r.expectRefusal("", demote)
	r.expectRefusal("", removed)
	if n := r.dir.Owners(); n != 1 {
		t.Errorf("%d owners", n)
	}
	r.expectRefusal(accounts.LastOwner, &event.UserRemoved{User: "b", By: system, At: r.now})
	r.expectRefusal(accounts.UnknownUser, removed)
}

func TestAnInvitationIsGoodForOne(t *testing.T) {
	r := newRig(t)
	r.expectRefusal("", r.user("a", account.RoleOwner))
	r.expectRefusal("", r.invitation("i1", "b@example.com"))
	accept := func(id account.UserID, i account.InvitationID) *event.UserCreated {
		e := r.user(id, account.RoleMember)
		e.Invitation = i
		return e
	}
	r.expectRefusal(accounts.InvitationOther, accept("c", "i1"))
	promoted := accept("b", "i1")
	promoted.Role = account.RoleOwner
	r.expectRefusal(accounts.InvitationOther, promoted)
	r.expectRefusal("", accept("b", "i1"))
	r.expectRefusal(accounts.InvitationGone, accept("c", "i1"))
	r.expectRefusal("", r.invitation("i2", ""))
	r.expectRefusal(accounts.EmailTaken, func() event.Event { e := accept("d", "i2"); e.Email = "b@example.com"; return e }())
	if _, found := r.dir.InvitationByHash(hex64("i2")); !found {
		t.Error("an invitation was used up by an event without effect")
	}
	r.now = r.now.Add(time.Hour)
	r.expectRefusal(accounts.InvitationExpired, accept("c", "i2"))
	r.expectRefusal("", &event.InvitationRevoked{Invitation: "i2", By: system, At: r.now})
	r.expectRefusal(accounts.InvitationGone, &event.InvitationRevoked{Invitation: "i2", By: system, At: r.now})
	if n := len(r.dir.Invitations()); n != 0 {
		t.Errorf("%d invitations", n)
	}
}

// addOneOfEach gives user "m" one object of each kind.
func (r *rig) addOneOfEach() {
	r.t.Helper()
	r.expectRefusal("", r.user("a", account.RoleOwner))
	r.expectRefusal("", r.user("m", account.RoleMember))
	r.expectRefusal("", r.session("s1", "m"))
	r.expectRefusal("", r.key("k1", "m", "one"))
	r.expectRefusal("", r.token("t1", "k1", "m"))
	r.expectRefusal("", &event.AccessChanged{ID: 7, Visibility: account.Private, Members: []account.UserID{"m", "a", "gone", "m"}, By: system, At: r.now})
	r.expectRefusal("", &event.AccessChanged{ID: 8, Members: []account.UserID{"m"}, By: system, At: r.now})
}

// validCredentials reports which of the credentials from equip are valid.
func (r *rig) validCredentials() string {
	_, session := r.dir.SessionByHash(hex64("s1"))
	_, key := r.dir.KeyByHash(hex64("k1"))
	_, token := r.dir.TokenByHash(hex64("t1"))
	return fmt.Sprint(session, key, token)
}

func TestSuspensionEndsWhatAUserSignsInWith(t *testing.T) {
	r := newRig(t)
	r.addOneOfEach()
	if got := r.validCredentials(); got != "true true true" {
		t.Fatalf("session, key, token: %s", got)
	}
	r.expectRefusal("", r.changed("m", event.UserSuspended))
	if got := r.validCredentials(); got != "false false false" {
		t.Errorf("after the suspension: %s", got)
	}
	if a := r.dir.Access()[7]; !slices.Equal(a.Members, []account.UserID{"a", "m"}) {
		t.Errorf("members %v: a suspended user keeps what they may see", a.Members)
	}
	for _, ev := range []event.Event{r.session("s2", "m"), r.key("k2", "m", "two")} {
		r.expectRefusal(accounts.UserInactive, ev)
	}
	r.expectRefusal("", r.changed("m", event.UserReinstated))
	if got := r.validCredentials(); got != "false false false" {
		t.Errorf("after the reinstatement: %s", got)
	}
	r.expectRefusal("", r.session("s2", "m"))
}

func TestRemovalTakesEverythingAlong(t *testing.T) {
	r := newRig(t)
	r.addOneOfEach()
	before := r.dir.Access()
	r.expectRefusal("", &event.UserRemoved{User: "m", By: system, At: r.now})
	if got := r.validCredentials(); got != "false false false" {
		t.Errorf("session, key, token: %s", got)
	}
	after := r.dir.Access()
	if len(after) != 1 || !slices.Equal(after[7].Members, []account.UserID{"a"}) {
		t.Errorf("decisions %+v", after)
	}
	if len(before) != 2 || len(before[7].Members) != 2 {
		t.Error("a map that readers have was changed")
	}
	r.expectRefusal(accounts.Unchanged, &event.AccessChanged{ID: 8, By: system, At: r.now})
	if reflect.ValueOf(r.dir.Access()).Pointer() != reflect.ValueOf(after).Pointer() {
		t.Error("another map, and nothing has changed")
	}
}

func TestKeysAndTokens(t *testing.T) {
	r := newRig(t)
	r.addOneOfEach()
	r.expectRefusal(accounts.NameTaken, r.key("k2", "m", "one"))
	r.expectRefusal("", r.key("k3", "a", "one"))
	same := r.key("k4", "a", "two")
	same.Hash = hex64("k1")
	r.expectRefusal(accounts.HashTaken, same)
	r.expectRefusal(accounts.KeyGone, r.token("t2", "k3", "m")) // of another user
	r.expectRefusal(accounts.KeyGone, &event.KeyDeleted{ID: "k3", User: "m", By: system, At: r.now})
	short := r.key("k5", "m", "short")
	short.ExpiresAt = r.now.Add(time.Minute)
	r.expectRefusal("", short)
	r.now = r.now.Add(time.Minute)
	r.expectRefusal(accounts.KeyExpired, r.token("t3", "k5", "m"))
	r.expectRefusal("", r.token("t4", "k1", "m"))
	r.expectRefusal("", &event.TokenRevoked{Token: "t4", By: system, At: r.now})
	r.expectRefusal(accounts.TokenGone, &event.TokenRevoked{Token: "t4", By: system, At: r.now})
	if keys := r.dir.Keys("m"); len(keys) != 2 || keys[0].ID != "k5" {
		t.Errorf("keys %+v", keys)
	}
	r.expectRefusal("", &event.KeyDeleted{ID: "k1", User: "m", By: system, At: r.now})
	if got := r.validCredentials(); got != "true false false" {
		t.Errorf("session, key, token: %s", got)
	}
}

func TestSessionsRotate(t *testing.T) {
	r := newRig(t)
	r.addOneOfEach()
	r.expectRefusal("", r.session("other", "m"))
	next := r.session("s2", "m")
	next.Replaces = "s1"
	r.expectRefusal("", next)
	twice := r.session("s3", "m")
	twice.Replaces = "s1"
	r.expectRefusal(accounts.SessionReplaced, twice)
	if s, found := r.dir.SessionByHash(hex64("s1")); !found || !s.ExpiresAt.Equal(r.now.Add(event.SessionGrace)) {
		t.Errorf("the replaced session: %+v, %t", s, found)
	}
	r.reopen()
	own := r.changed("m", event.UserPasswordChanged)
	own.PasswordHash, own.By = "$argon2id$x", account.Actor{Kind: account.ActorUser, User: "m", Credential: "s2"}
	r.expectRefusal("", own)
	if got := len(r.dir.Sessions("m")); got != 2 {
		t.Errorf("%d sessions after the password has changed, want that of the change with the one it replaces", got)
	}
	r.expectRefusal("", &event.SessionEnded{User: "m", Session: "s1", By: system, At: r.now})
	if got := r.dir.Sessions("m"); len(got) != 0 {
		t.Errorf("sessions %+v: who signs out with the old one is signed out", got)
	}
	late := r.session("s4", "m")
	late.Replaces = "s2"
	r.expectRefusal(accounts.SessionGone, late) // an ended session cannot be replaced
	short := r.session("short", "m")
	short.ExpiresAt = r.now.Add(time.Second)
	r.expectRefusal("", short)
	next = r.session("s5", "m")
	next.Replaces = "short"
	r.expectRefusal("", next)
	if s, found := r.dir.SessionByHash(hex64("short")); !found || !s.ExpiresAt.Equal(short.ExpiresAt) {
		t.Errorf("a session that was replaced ends at %v, later than it would have: %t", s.ExpiresAt, found)
	}
}

// TestPasswordIsReplacedOnce checks changes of a password that name the hash that they replace.
func TestPasswordIsReplacedOnce(t *testing.T) {
	r := newRig(t)
	r.addOneOfEach()
	change := func(kind event.UserChange, from, to string) *event.UserChanged {
		e := r.changed("m", kind)
		e.PasswordHash, e.Replaces = to, from
		return e
	}
	r.expectRefusal("", change(event.UserPasswordChanged, "", "$argon2id$1"))
	r.expectRefusal("", change(event.UserPasswordChanged, "$argon2id$1", "$argon2id$2"))
	r.expectRefusal("", r.session("kept", "m"))
	r.reopen()
	r.expectRefusal(accounts.PasswordReplaced, change(event.UserPasswordChanged, "$argon2id$1", "$argon2id$3"))
	r.expectRefusal(accounts.PasswordReplaced, change(event.UserPasswordRehash, "$argon2id$1", "$argon2id$4"))
	if u, _ := r.dir.User("m"); u.PasswordHash != "$argon2id$2" || len(r.dir.Sessions("m")) != 1 {
		t.Errorf("the user has the hash %s and %d sessions", u.PasswordHash, len(r.dir.Sessions("m")))
	}
}

// TestExpiredRowsAreRemoved checks that expired rows are removed a day later, and that
// this does not depend on the clock of this machine.
func TestExpiredRowsAreRemoved(t *testing.T) {
	r := newRig(t)
	r.addOneOfEach()
	r.expectRefusal("", r.invitation("i", ""))
	r.now = r.now.Add(24 * time.Hour)
	r.expectRefusal("", r.changed("m", event.UserSuspended)) // any event
	r.expectRefusal("", r.changed("m", event.UserReinstated))
	if len(r.dir.Invitations()) != 1 {
		t.Error("an invitation is gone before its day is over")
	}
	r.reopen()
	r.now = r.now.Add(time.Hour + time.Nanosecond)
	r.expectRefusal("", &event.ActivityNoted{At: r.now})
	if len(r.dir.Invitations()) != 0 {
		t.Error("an invitation is there for more than a day after its end")
	}
}

func TestActivityMovesForward(t *testing.T) {
	r := newRig(t)
	r.addOneOfEach()
	note := func(at time.Time) {
		r.expectRefusal("", &event.ActivityNoted{
			Users: map[account.UserID]time.Time{"m": at, "gone": at}, Keys: map[account.KeyID]time.Time{"k1": at, "gone": at}, At: r.now,
		})
	}
	note(r.now.Add(time.Minute))
	note(r.now)
	u, _ := r.dir.User("m")
	k, _ := r.dir.Key("k1")
	if want := r.now.Add(time.Minute); !u.LastActivityAt.Equal(want) || !k.LastUsedAt.Equal(want) || !u.UpdatedAt.Equal(start) {
		t.Errorf("%v, %v, want %v", u.LastActivityAt, k.LastUsedAt, want)
	}
}

func TestBounds(t *testing.T) {
	r := newRig(t)
	r.addOneOfEach()
	for i := range accounts.MaxKeysPerUser {
		want := accounts.Refusal("")
		if i == accounts.MaxKeysPerUser-1 {
			want = accounts.TooMany
		}
		r.expectRefusal(want, r.key(account.KeyID(fmt.Sprint("many", i)), "m", fmt.Sprint("many", i)))
	}
	for i := range accounts.MaxSessionsPerUser {
		r.now = r.now.Add(time.Second)
		r.expectRefusal("", r.session(account.SessionID(fmt.Sprint("many", i)), "m"))
	}
	if got := r.dir.Sessions("m"); len(got) != accounts.MaxSessionsPerUser || got[0].ID != "many99" || got[99].ID != "many0" {
		t.Errorf("%d sessions", len(got))
	}
	if _, found := r.dir.SessionByHash(hex64("s1")); found {
		t.Error("the session that ends first is there")
	}
	r.expectRefusal("", r.changed("m", event.UserSuspended))
	for range accounts.MaxRefusals + 5 {
		r.apply(r.changed("m", event.UserSuspended))
	}
	first := r.next - accounts.MaxRefusals
	for range 2 {
		if why, ok := r.dir.Outcome(event.Position{Topic: event.TopicAccounts, Offset: first}); why != accounts.Unchanged || !ok {
			t.Errorf("the oldest refusal that is kept: %q, %t", string(why), ok)
		}
		if _, ok := r.dir.Outcome(event.Position{Topic: event.TopicAccounts, Offset: first - 1}); ok {
			t.Error("something is known of what is forgotten")
		}
		r.reopen()
	}
	if _, ok := r.dir.Outcome(event.Position{Topic: event.TopicAccounts, Offset: r.next}); ok {
		t.Error("something is known of what is not applied yet")
	}
}

func TestSavedSearchesAreBounded(t *testing.T) {
	r := newRig(t)
	r.addOneOfEach()
	saved := func(i int) *event.SavedSearchChanged {
		return &event.SavedSearchChanged{
			Search: account.SavedSearchID(fmt.Sprint("q", i)), User: "m", Change: event.SavedSearchCreated, Name: fmt.Sprintf("%03d", i), Query: "x",
			Shared: i%5 == 0, By: system, At: r.now,
		}
	}
	for i := range accounts.MaxSavedSearchesPerUser {
		r.expectRefusal("", saved(i))
	}
	more := saved(1)
	more.Change, more.Shared = event.SavedSearchReplaced, true
	r.expectRefusal(accounts.TooMany, more) // exceeds the shared searches of a user
	again := saved(0)
	again.Change, again.Query = event.SavedSearchReplaced, "y"
	r.expectRefusal("", again)
	r.expectRefusal(accounts.TooMany, saved(accounts.MaxSavedSearchesPerUser))
	foreign := saved(3)
	foreign.User, foreign.Change = "o", event.SavedSearchReplaced
	r.expectRefusal(accounts.SearchGone, foreign)
	own, others := r.dir.SavedSearches("m"), r.dir.SavedSearches("o")
	if len(own) != accounts.MaxSavedSearchesPerUser || own[1].Name != "001" || len(others) != accounts.MaxSharedSearchesPerUser || others[1].Name != "005" {
		t.Errorf("%d of one's own, %d of others", len(own), len(others))
	}
	r.expectRefusal("", &event.UserRemoved{User: "m", By: system, At: r.now})
	if left := r.dir.SavedSearches("o"); len(left) != 0 {
		t.Errorf("%d are left of a user who is gone", len(left))
	}
}

func TestOthersAreNotTaken(t *testing.T) {
	r := newRig(t)
	must(t, r.applier.Apply(t.Context(), record(t, 0, &event.RepositoryRemoved{Repository: 1, At: start})))
	rec := record(t, 1, r.user("a", account.RoleOwner))
	rec.Value = []byte("{}")
	must(t, r.applier.Apply(t.Context(), rec)) // poison
	r.next = 2
	r.expectRefusal("", r.user("a", account.RoleOwner))
}

// view holds everything that readers can see.
type view struct {
	Users       []account.User
	Keys        map[account.KeyID]account.Key
	Sessions    map[account.SessionID]account.Session
	Tokens      map[account.TokenID]account.Token
	Invitations map[account.InvitationID]account.Invitation
	Access      map[code.RepositoryID]account.Access
	Owners      int
	Searches    map[account.SavedSearchID]account.SavedSearch
	// Shared are the saved searches that a user without any sees.
	Shared map[account.SavedSearchID]account.SavedSearch
}

// readView reads a Directory through all its methods.
func (r *rig) readView() view {
	v := view{nil, map[account.KeyID]account.Key{}, map[account.SessionID]account.Session{}, map[account.TokenID]account.Token{},
		map[account.InvitationID]account.Invitation{}, map[code.RepositoryID]account.Access{}, r.dir.Owners(),
		map[account.SavedSearchID]account.SavedSearch{}, map[account.SavedSearchID]account.SavedSearch{}}
	for _, u := range r.dir.Users() {
		v.Users = append(v.Users, *u)
		for _, k := range r.dir.Keys(u.ID) {
			v.Keys[k.ID] = *k
		}
		for _, s := range r.dir.Sessions(u.ID) {
			v.Sessions[s.ID] = *s
		}
		for _, q := range r.dir.SavedSearches(u.ID) {
			if q.User == u.ID {
				v.Searches[q.ID] = *q
			}
		}
	}
	for _, q := range r.dir.SavedSearches("nobody") {
		v.Shared[q.ID] = *q
	}
	for i := range 8 {
		if t, found := r.dir.Token(account.TokenID(fmt.Sprint("t", i))); found {
			v.Tokens[t.ID] = *t
		}
	}
	for _, i := range r.dir.Invitations() {
		v.Invitations[i.ID] = *i
	}
	for id, a := range r.dir.Access() {
		v.Access[id] = *a
	}
	return v
}

func (m *model) readView() view {
	v := view{nil, m.keys, map[account.SessionID]account.Session{}, m.tokens, m.invitations, m.access, m.owners(), m.searches, map[account.SavedSearchID]account.SavedSearch{}}
	for id, q := range m.searches {
		if q.Shared {
			v.Shared[id] = q
		}
	}
	for _, u := range m.users {
		v.Users = append(v.Users, u)
	}
	slices.SortFunc(v.Users, func(a, b account.User) int {
		if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(string(a.ID), string(b.ID))
	})
	for id, s := range m.sessions {
		v.Sessions[id] = s.Session
	}
	return v
}

// checkLookups compares the results of lookups by hash with the accounts.
func (r *rig) checkLookups(v view) error {
	for _, k := range v.Keys {
		if got, found := r.dir.KeyByHash(k.Hash); !found || got.ID != k.ID {
			return fmt.Errorf("key %s is not found by its hash", k.ID)
		}
	}
	for _, s := range v.Sessions {
		if got, found := r.dir.SessionByHash(s.Hash); !found || got.ID != s.ID {
			return fmt.Errorf("session %s is not found by its hash", s.ID)
		}
	}
	for _, tok := range v.Tokens {
		if got, found := r.dir.TokenByHash(tok.Hash); !found || got.ID != tok.ID {
			return fmt.Errorf("token %s is not found by its hash", tok.ID)
		}
	}
	for i := range 1000 {
		hash := fmt.Sprintf("%064x", i)
		if k, found := r.dir.KeyByHash(hash); found && v.Keys[k.ID].Hash != hash {
			return fmt.Errorf("key %s is found and is not there", k.ID)
		}
		if s, found := r.dir.SessionByHash(hash); found && v.Sessions[s.ID].Hash != hash {
			return fmt.Errorf("session %s is found and is not there", s.ID)
		}
		if tok, found := r.dir.TokenByHash(hash); found && v.Tokens[tok.ID].Hash != hash {
			return fmt.Errorf("token %s is found and is not there", tok.ID)
		}
	}
	return nil
}

// TestModel compares the Directory with the model after every event of random sequences,
// and again after reopening it.
func TestModel(t *testing.T) {
	seeds := 30
	if testing.Short() {
		seeds = 5
	}
	effects := map[event.Type][2]int{}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r, m, s := newRig(t), newModel(), newScript(seed)
			for i := range 400 {
				ev, now := s.step()
				if s.IntN(10) == 0 { // has no effect at all; does not even advance time
					r.spoiler.fail = true
					must(t, r.applier.Apply(t.Context(), record(t, r.next, ev)))
					r.spoiler.fail = false
					r.next++
					continue
				}
				took := r.apply(ev) == ""
				counts := effects[ev.EventType()]
				if took {
					counts[0]++
				} else {
					counts[1]++
				}
				effects[ev.EventType()] = counts
				if want := m.apply(ev, now); took != want {
					t.Fatalf("seed %d, event %d, %s %+v: has an effect: %t, want %t", seed, i, ev.EventType(), ev, took, want)
				}
				if i%50 == 25 {
					r.reopen()
				}
				want, got := m.readView(), r.readView()
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("seed %d, event %d, %s %+v:\n%+v\nwant\n%+v", seed, i, ev.EventType(), ev, got, want)
				}
				if i%20 == 0 {
					if err := r.checkLookups(got); err != nil {
						t.Fatalf("seed %d, event %d: %v", seed, i, err)
					}
				}
			}
		})
	}
	if testing.Short() {
		return
	}
	for typ, n := range effects {
		if n[0] == 0 || n[1] == 0 && typ != event.TypeActivityNoted {
			t.Errorf("%s: %d had an effect and %d had none: the sequences are too tame", typ, n[0], n[1])
		}
	}
	if len(effects) != 14 {
		t.Errorf("only %v were tried", slices.Collect(maps.Keys(effects)))
	}
}

// TestConformance checks the projection against the rules of all projections: the rows
// are the same after any repetition, after a crash, and when started from the middle.
func TestConformance(t *testing.T) {
	s := newScript(99)
	var records []event.Record
	for i := range 500 {
		ev, _ := s.step()
		rec := record(t, event.Offset(i), ev)
		if i%100 == 50 {
			rec.Value = []byte("garbage")
		}
		records = append(records, rec)
	}
	projectiontest.Conform(t, records, nil, func(t *testing.T, s *store.Store, _ segmentstore.Store, d *projections.Decoder) ([]projections.Projection, func()) {
		dir, err := accounts.Open(accounts.Options{Store: s, Decoder: d})
		must(t, err)
		return []projections.Projection{dir}, dir.Close
	})
}
