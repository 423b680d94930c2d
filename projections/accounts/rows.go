package accounts

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// The kinds of rows; see the table in the package documentation.
const (
	kindUser        = 'u'
	kindInvitation  = 'i'
	kindSession     = 's'
	kindKey         = 'k'
	kindToken       = 't'
	kindAccess      = 'r'
	kindSavedSearch = 'q'
	kindHostAccess  = 'h'
	kindHostDoubt   = 'd'
	kindRefusal     = 'f'
)

type userRow struct {
	Email          string             `json:"email"`
	EmailVerified  bool               `json:"emailVerified,omitempty"`
	Name           string             `json:"name,omitempty"`
	Role           account.Role       `json:"role"`
	State          account.UserState  `json:"state"`
	PasswordHash   string             `json:"passwordHash,omitempty"`
	Identities     []account.Identity `json:"identities,omitempty"`
	CreatedAt      time.Time          `json:"createdAt"`
	UpdatedAt      time.Time          `json:"updatedAt"`
	SuspendedAt    time.Time          `json:"suspendedAt,omitzero"`
	LastActivityAt time.Time          `json:"lastActivityAt,omitzero"`
}

type invitationRow struct {
	Hash      string         `json:"hash"`
	Email     string         `json:"email,omitempty"`
	Role      account.Role   `json:"role"`
	By        account.UserID `json:"by,omitempty"`
	CreatedAt time.Time      `json:"createdAt"`
	ExpiresAt time.Time      `json:"expiresAt"`
}

type sessionRow struct {
	User       account.UserID    `json:"user"`
	Hash       string            `json:"hash"`
	CreatedAt  time.Time         `json:"createdAt"`
	ExpiresAt  time.Time         `json:"expiresAt"`
	Address    string            `json:"address,omitempty"`
	Agent      string            `json:"agent,omitempty"`
	ReplacedBy account.SessionID `json:"replacedBy,omitempty"`
}

type keyRow struct {
	User         account.UserID      `json:"user"`
	Name         string              `json:"name"`
	Prefix       string              `json:"prefix"`
	Hash         string              `json:"hash"`
	Scopes       []account.Scope     `json:"scopes"`
	Repositories []code.RepositoryID `json:"repositories,omitempty"`
	CreatedAt    time.Time           `json:"createdAt"`
	ExpiresAt    time.Time           `json:"expiresAt,omitzero"`
	LastUsedAt   time.Time           `json:"lastUsedAt,omitzero"`
}

type tokenRow struct {
	Key          account.KeyID       `json:"key"`
	User         account.UserID      `json:"user"`
	Hash         string              `json:"hash"`
	Repositories []code.RepositoryID `json:"repositories"`
	CreatedAt    time.Time           `json:"createdAt"`
	ExpiresAt    time.Time           `json:"expiresAt"`
}

type accessRow struct {
	Visibility account.Visibility `json:"visibility,omitempty"`
	Members    []account.UserID   `json:"members,omitempty"`
}

func rowKey[ID ~string](kind byte, id ID) []byte {
	return append([]byte{byte(store.FamilyAccounts), kind}, id...)
}

func accessKey(id code.RepositoryID) []byte {
	return binary.BigEndian.AppendUint64([]byte{byte(store.FamilyAccounts), kindAccess}, uint64(id))
}

// write writes a row.
func write(b *store.Batch, key []byte, row any) error {
	value, err := json.Marshal(row)
	if err != nil {
		return fmt.Errorf("accounts: row %q: %w", key, err)
	}
	return b.Set(key, value)
}

// loadRows reads all rows of the family.
func (d *Directory) loadRows(s *store.Store) error {
	prefix := []byte{byte(store.FamilyAccounts)}
	it, err := s.Iter(prefix, store.Successor(prefix))
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		if err := d.loadRow(it.Key(), it.Value()); err != nil {
			return errors.Join(err, it.Close())
		}
	}
	return it.Close()
}

func (d *Directory) loadRow(key, value []byte) error {
	if len(key) < 3 {
		return fmt.Errorf("accounts: row %q has no name", key)
	}
	kind, id, s := key[1], string(key[2:]), d.mu.state
	var err error
	switch kind {
	case kindUser:
		var r userRow
		err = json.Unmarshal(value, &r)
		s.putUser(r.toUser(account.UserID(id)))
	case kindInvitation:
		var r invitationRow
		err = json.Unmarshal(value, &r)
		s.putInvitation(&account.Invitation{
			ID: account.InvitationID(id), Hash: r.Hash, Email: r.Email, Role: r.Role, By: r.By, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt,
		})
	case kindSession:
		var r sessionRow
		err = json.Unmarshal(value, &r)
		s.putSession(r.toSession(account.SessionID(id)))
	case kindKey:
		var r keyRow
		err = json.Unmarshal(value, &r)
		s.keys.put(r.toKey(account.KeyID(id)))
	case kindToken:
		var r tokenRow
		err = json.Unmarshal(value, &r)
		s.putToken(&account.Token{
			ID: account.TokenID(id), Key: r.Key, User: r.User, Hash: r.Hash, Repositories: r.Repositories, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt,
		})
	case kindAccess:
		err = d.loadAccess(key, value)
	case kindSavedSearch:
		var r savedSearchRow
		err = json.Unmarshal(value, &r)
		s.searches.put(r.toSavedSearch(account.SavedSearchID(id)))
	case kindHostAccess:
		err = d.loadHostAccess(key, value)
	case kindHostDoubt:
		err = d.loadHostDoubt(key, value)
	case kindRefusal:
		err = d.loadRefusal(key, value)
	default:
		err = errors.New("its kind is unknown")
	}
	if err != nil {
		return fmt.Errorf("accounts: row %q: %w", key, err)
	}
	return nil
}

func (d *Directory) loadAccess(key, value []byte) error {
	var r accessRow
	if len(key) != 10 {
		return errors.New("want a repository of 8 bytes")
	}
	if err := json.Unmarshal(value, &r); err != nil {
		return err
	}
	id := code.RepositoryID(binary.BigEndian.Uint64(key[2:]))
	d.mu.state.setAccess(id, &account.Access{Repository: id, Visibility: r.Visibility, Members: r.Members})
	return nil
}

func (r *userRow) toUser(id account.UserID) *account.User {
	return &account.User{
		ID: id, Email: r.Email, EmailVerified: r.EmailVerified, Name: r.Name, Role: r.Role, State: r.State, PasswordHash: r.PasswordHash, Identities: r.Identities,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, SuspendedAt: r.SuspendedAt, LastActivityAt: r.LastActivityAt,
	}
}

func rowOfUser(u *account.User) *userRow {
	return &userRow{
		Email: u.Email, EmailVerified: u.EmailVerified, Name: u.Name, Role: u.Role, State: u.State, PasswordHash: u.PasswordHash, Identities: u.Identities,
		CreatedAt: u.CreatedAt, UpdatedAt: u.UpdatedAt, SuspendedAt: u.SuspendedAt, LastActivityAt: u.LastActivityAt,
	}
}

func (r *sessionRow) toSession(id account.SessionID) *session {
	return &session{account.Session{
		ID: id, User: r.User, Hash: r.Hash, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, Address: r.Address, Agent: r.Agent,
	}, r.ReplacedBy}
}

func (r *keyRow) toKey(id account.KeyID) *account.Key {
	return &account.Key{
		ID: id, User: r.User, Name: r.Name, Prefix: r.Prefix, Hash: r.Hash, Scopes: r.Scopes, Repositories: r.Repositories,
		CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, LastUsedAt: r.LastUsedAt,
	}
}
