package api

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/schemas/code"
)

// TestListsEqualASortAndFilter requests lists of changing catalogs as callers with
// different permissions, and compares them with a plain sort and filter.
func TestListsEqualASortAndFilter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	var l listings
	people := []auth.Visible{{}}
	for i := range 3 {
		people = append(people, auth.Only(func(r *code.Repository) bool { return int(r.ID)%(i+2) != 0 }))
	}
	var all []*corpus.Repository
	for step := range 300 {
		if step%10 == 0 {
			all = slices.Clone(all)
			for range 20 {
				r := &corpus.Repository{Repository: code.Repository{ID: code.RepositoryID(rng.IntN(1000) + 1), Name: fmt.Sprintf("Host/%c%d", 'a'+rng.IntN(3), rng.IntN(9))}}
				r.Connection = []string{"", "one", "two"}[rng.IntN(3)]
				if rng.IntN(3) > 0 {
					r.PushedAt = r.PushedAt.AddDate(rng.IntN(5)+1, 0, 0)
				}
				all = append(all, r)
			}
			slices.SortStableFunc(all, compareNameAndID)
		}
		key := listKey{
			visible: people[rng.IntN(len(people))], sort: []string{"name", "pushed"}[rng.IntN(2)],
			filter: []string{"", "a", "host/b", "nosuch"}[rng.IntN(4)], connection: []string{"", "", "one", "two"}[rng.IntN(4)],
		}
		want := []*corpus.Repository{}
		for _, r := range all {
			if key.visible.Sees(&r.Repository) && strings.Contains(strings.ToLower(r.Name), key.filter) && (key.connection == "" || r.Connection == key.connection) {
				want = append(want, r)
			}
		}
		if key.sort == "pushed" {
			slices.SortStableFunc(want, func(a, b *corpus.Repository) int { return cmp.Or(comparePush(a, b), compareNameAndID(a, b)) })
		}
		for range 2 {
			if got := l.listFor(all, key); !slices.Equal(got, want) {
				t.Fatalf("step %d, %+v: %d repositories, want %d", step, key, len(got), len(want))
			}
		}
	}
}

func TestListsAreBounded(t *testing.T) {
	var l listings
	var all []*corpus.Repository
	for i := range maxListed / 10 {
		all = append(all, &corpus.Repository{Repository: code.Repository{ID: code.RepositoryID(i + 1), Name: "x"}})
	}
	for i := range 30 {
		l.listFor(all, listKey{sort: "name", visible: auth.Only(func(*code.Repository) bool { return i >= 0 })})
	}
	if l.mu.size > maxListed || len(l.mu.lists) != len(l.mu.order) || len(l.mu.lists) == 0 {
		t.Errorf("%d repositories in %d lists are kept, want at most %d", l.mu.size, len(l.mu.lists), maxListed)
	}
}

// compareNameAndID implements the order of Catalog.Repositories.
func compareNameAndID(a, b *corpus.Repository) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
}
