package auth_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/syntax"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestSavedContexts saves searches of two users and checks which of them are search contexts for
// each caller, and for what they stand.
func TestSavedContexts(t *testing.T) {
	w := newWorld(t)
	ada := w.authenticateAs(w.signInOwner().Value)
	bob := w.authenticateAs(w.signInMember(ada, "bob@example.org").Value)
	eve := w.authenticateAs(w.signInMember(ada, "eve@example.org").Value)
	save := func(p *auth.Principal, name, query string, isShared bool) account.SavedSearchID {
		t.Helper()
		w.clock.advanceBy(time.Second)
		saved, err := w.SaveSearch(t.Context(), p, auth.SavedSearchEdit{Name: &name, Query: &query, Shared: &isShared})
		if err != nil {
			t.Fatal(err)
		}
		return saved.ID
	}
	older := save(eve, "older", "repo:evil", true)
	save(ada, "my team", "repo:team -(repo:old or archived:yes)", true)
	save(ada, "words", "repo:team boil", true)
	save(ada, "mine", "repo:mine type:repo", false)
	save(ada, "nested", `context:"my team"`, false)
	save(bob, "my team", "repo:evil", true)
	save(eve, "words", "repo:other", true)

	name, query, isShared := "my team", "repo:evil words", true
	if _, err := w.ChangeSavedSearch(t.Context(), eve, older, auth.SavedSearchEdit{Name: &name}); !errors.Is(err, auth.ErrInvalid) {
		t.Errorf("an older search gets the name of a shared context: %v, want %v", err, auth.ErrInvalid)
	}
	if _, err := w.ChangeSavedSearch(t.Context(), eve, older, auth.SavedSearchEdit{Name: &name, Query: &query, Shared: &isShared}); err != nil {
		t.Errorf("a search for words replaces no context: %v", err)
	}
	query = "repo:evil"
	if _, err := w.ChangeSavedSearch(t.Context(), eve, older, auth.SavedSearchEdit{Query: &query}); !errors.Is(err, auth.ErrInvalid) {
		t.Errorf("an older search becomes a context with the name of a shared one: %v, want %v", err, auth.ErrInvalid)
	}

	meaning := func(p *auth.Principal, name string) string {
		q, err := w.ParseQuery(p, fmt.Sprintf("context:%q or lang:go boil", name), syntax.Options{})
		if err != nil {
			t.Fatal(err)
		}
		named := syntax.Contexts(q.Root)
		if named[0].Means == nil {
			return ""
		}
		return named[0].Means.String()
	}
	restricted := w.authenticateAs(w.createKey(ada, auth.NewKey{Name: "some", Repositories: []code.RepositoryID{1}}))
	key := w.authenticateAs(w.createKey(ada, auth.NewKey{Name: "all"}))
	for _, c := range []struct {
		who        string
		p          *auth.Principal
		name, want string
	}{
		{"ada", ada, "my team", "repo:team -(repo:old or archived:yes)"},
		{"ada's key", key, "my team", "repo:team -(repo:old or archived:yes)"},
		{"a restricted key of ada", restricted, "my team", ""},
		{"nobody", &auth.Principal{}, "my team", ""},
		{"bob has his own", bob, "my team", "repo:evil"},
		{"eve gets the older one", eve, "my team", "repo:team -(repo:old or archived:yes)"},
		{"ada", ada, "mine", "repo:mine"},
		{"not shared", bob, "mine", ""},
		{"words are no context", ada, "words", "repo:other"},
		{"no saved search in another", ada, "nested", `context:"my team"`},
		{"unknown", ada, "MINE", ""},
	} {
		if got := meaning(c.p, c.name); got != c.want {
			t.Errorf("%s: context:%q stands for %q, want %q", c.who, c.name, got, c.want)
		}
	}
	var names []string
	for _, saved := range w.SavedContexts(ada) {
		names = append(names, saved.Name)
	}
	if want := []string{"mine", "my team", "nested", "words"}; !slices.Equal(names, want) {
		t.Errorf("ada's contexts are %q, want %q", names, want)
	}
}
