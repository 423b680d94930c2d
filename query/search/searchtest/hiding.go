package searchtest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Hiding is a corpus with some hidden repositories, and the same corpus without them: it
// contains no document that is only in hidden repositories.
type Hiding struct {
	Whole, Rest *Model
	Visible     func(*code.Repository) bool
}

// NewHiding hides repositories of a model at random, but leaves at least one visible.
func NewHiding(t testing.TB, rng *rand.Rand, m *Model) *Hiding {
	h := &Hiding{Whole: m}
	shown := []int{}
	for i := range h.Whole.Repos {
		if rng.IntN(2) == 0 || len(shown) == 0 && i == len(h.Whole.Repos)-1 {
			shown = append(shown, i)
		}
	}
	h.Visible = func(r *code.Repository) bool { return slices.Contains(shown, int(r.ID)-1) }
	h.Rest = &Model{Refs: h.Whole.Refs}
	for _, i := range shown {
		h.Rest.Repos = append(h.Rest.Repos, h.Whole.Repos[i])
	}
	kept := map[*ModelDocument]bool{}
	for _, p := range h.Whole.Places {
		if i := slices.Index(shown, p.Repo); i >= 0 {
			kept[p.Doc] = true
			p.Repo = i
			h.Rest.Places = append(h.Rest.Places, p)
		}
	}
	for _, d := range h.Whole.Documents {
		if kept[d] {
			h.Rest.Documents = append(h.Rest.Documents, d)
		}
	}
	h.Rest.BuildIndex(t, 1+rng.IntN(3))
	return h
}

// AllowAll makes every repository visible.
func AllowAll(*code.Repository) bool { return true }
