package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// keyRow is a row of the list of keys.
type keyRow struct {
	*account.Key
	Repositories []string // names; the ID if the repository was removed or is hidden
	Expired      bool
}

func (s *Server) keysPage(w http.ResponseWriter, v *pageRequest) error {
	keys, err := s.o.Accounts.Keys(v.principal)
	if err != nil {
		return err
	}
	names, err := s.repositoryNames(v, keys...)
	if err != nil {
		return err
	}
	rows := make([]keyRow, len(keys))
	for i, k := range keys {
		rows[i] = keyRow{Key: k, Expired: !k.ExpiresAt.IsZero() && !s.o.Now().Before(k.ExpiresAt)}
		for _, id := range k.Repositories {
			rows[i].Repositories = append(rows[i].Repositories, names[id])
		}
	}
	return s.renderPage(w, v, view{template: "keys", title: "API Keys", section: "keys", data: rows})
}

// repositoryNames returns the names of the repositories that keys are restricted to, if
// the visitor may see them.
func (s *Server) repositoryNames(v *pageRequest, keys ...*account.Key) (map[code.RepositoryID]string, error) {
	names := map[code.RepositoryID]string{}
	for _, k := range keys {
		for _, id := range k.Repositories {
			names[id] = fmt.Sprintf("repository %d", id)
		}
	}
	if len(names) == 0 || s.o.Repositories == nil {
		return names, nil
	}
	all, err := s.o.Repositories.Repositories(v.r.Context())
	visible := s.o.Accounts.Visible(v.principal)
	for _, r := range all {
		if _, wanted := names[r.ID]; wanted && visible.Sees(&r.Repository) {
			names[r.ID] = r.Name
		}
	}
	return names, err
}

// lifetimes are the choices in the form of a new key, in days; 0 means no expiry.
var lifetimes = []int{7, 30, 90, 365, 0}

const defaultLifetime = 90

type choice struct {
	Value, Label string
	Hint         string
	Chosen       bool
}

func (s *Server) newKeyPage(w http.ResponseWriter, v *pageRequest) error {
	return s.showNewKey(w, v, form{}, 0)
}

func (s *Server) showNewKey(w http.ResponseWriter, v *pageRequest, f form, status int) error {
	fresh := f.values == nil
	scopes := []choice{
		{Value: string(account.ScopeSearch), Label: "Search", Hint: "search, symbols, the list of repositories", Chosen: fresh || f.Has("scope", string(account.ScopeSearch))},
		{Value: string(account.ScopeGit), Label: "Read files and history", Hint: "source, trees, commits, diffs, blame", Chosen: fresh || f.Has("scope", string(account.ScopeGit))},
	}
	if v.isOwner() {
		scopes = append(scopes, choice{Value: string(account.ScopeAdmin), Label: "Administer", Hint: "register repositories, manage members, read the audit log",
			Chosen: f.Has("scope", string(account.ScopeAdmin))},
			choice{Value: string(account.ScopeScip), Label: "Upload precise indexes", Hint: "together with another scope, for CI: quarry scip upload",
				Chosen: f.Has("scope", string(account.ScopeScip))})
	}
	var expiry []choice
	for _, days := range lifetimes {
		c := choice{Value: strconv.Itoa(days), Label: fmt.Sprintf("%d days", days)}
		if days == 0 {
			c.Label = "Never"
		}
		c.Chosen = fresh && days == defaultLifetime || f.Get("days") == c.Value
		expiry = append(expiry, c)
	}
	return s.renderPage(w, v, view{template: "newkey", title: "Create API Key", section: "keys", status: status, form: f, data: struct {
		Name           input
		Scopes, Expiry []choice
		Repositories   string
		Restrictable   bool
	}{
		f.newInput(input{Name: "name", Label: "Name", Required: true, Max: account.MaxKeyNameBytes, Hint: "What the key is for: a laptop, an editor, a nightly job."}),
		scopes, expiry, f.values.Get("repositories"), s.o.Repositories != nil,
	}})
}

// createKey responds with the page that shows the new key, and not with a redirect,
// because the value cannot be shown again. Reloading the page submits a second key of the
// same name, which is refused.
func (s *Server) createKey(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	n, err := s.newKey(v, &f)
	if err != nil {
		return err
	}
	if len(f.errors) > 0 {
		return s.showNewKey(w, v, f, 0)
	}
	key, value, err := s.o.Accounts.CreateKey(v.r.Context(), v.principal, n)
	if errors.Is(err, auth.ErrKeyExists) {
		f.addError("name", "You already have a key with this name.")
		return s.showNewKey(w, v, f, http.StatusConflict)
	}
	if err != nil {
		f, status := s.formWithError(w, v, f, err, map[string]string{"scopes": "scope", "expiresAt": "days"})
		return s.showNewKey(w, v, f, status)
	}
	return s.renderPage(w, v, view{template: "createdkey", title: "API Key created", section: "keys", data: struct {
		Key        *account.Key
		Value, URL string
	}{key, value, s.o.PublicURL}})
}

// newKey reads the form of a key, and adds errors to it.
func (s *Server) newKey(v *pageRequest, f *form) (auth.NewKey, error) {
	n := auth.NewKey{Name: f.Get("name")}
	for _, scope := range f.values["scope"] {
		n.Scopes = append(n.Scopes, account.Scope(scope))
	}
	if len(n.Scopes) == 0 {
		f.addError("scope", "Choose at least one scope.")
	}
	days, err := strconv.Atoi(f.Get("days"))
	switch {
	case err != nil || days < 0 || days > int(auth.MaxKeyTTL/(24*time.Hour)):
		f.addError("days", "Choose one from the list.")
	case days > 0:
		n.ExpiresAt = s.o.Now().UTC().AddDate(0, 0, days)
	}
	n.Repositories, err = s.repositoriesNamed(v.r.Context(), v, f)
	return n, err
}

// repositoriesNamed returns the repositories of the field, one full name per line.
func (s *Server) repositoriesNamed(ctx context.Context, v *pageRequest, f *form) ([]code.RepositoryID, error) {
	wanted := strings.Fields(f.values.Get("repositories"))
	if len(wanted) == 0 || s.o.Repositories == nil {
		return nil, nil
	}
	all, err := s.o.Repositories.Repositories(ctx)
	if err != nil {
		return nil, err
	}
	visible, byName := s.o.Accounts.Visible(v.principal), map[string]code.RepositoryID{}
	for _, r := range all {
		if visible.Sees(&r.Repository) {
			byName[r.Name] = r.ID
		}
	}
	var ids []code.RepositoryID
	for _, name := range wanted {
		id, found := byName[name]
		if !found {
			f.addError("repositories", fmt.Sprintf("There is no repository %q.", name))
			return nil, nil
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (s *Server) deleteKey(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	if err := s.o.Accounts.DeleteKey(v.r.Context(), v.principal, f.Get("key")); err != nil {
		return err
	}
	return redirectDone(w, v, "/settings/keys", "key-deleted")
}
