package api

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
)

// repositoryItem is an element of GET /api/repos.
type repositoryItem struct {
	Kind           code.HostKind `json:"codeHostType"`
	ID             uint64        `json:"repoId"`
	Name           string        `json:"repoName"`
	WebURL         string        `json:"webUrl"`
	DisplayName    string        `json:"repoDisplayName,omitempty"`
	ExternalWebURL string        `json:"externalWebUrl,omitempty"`
	ImageURL       string        `json:"imageUrl,omitempty"`
	IndexedAt      *jsonTime     `json:"indexedAt,omitempty"`
	PushedAt       *jsonTime     `json:"pushedAt,omitempty"`
	DefaultBranch  string        `json:"defaultBranch,omitempty"`
	IsFork         bool          `json:"isFork"`
	IsArchived     bool          `json:"isArchived"`
}

// maxListQueryBytes bounds the filter of a list.
const maxListQueryBytes = 1024

func (s *Server) listRepositories(r *http.Request) (*reply, error) {
	p := queryParams(r)
	window := p.page()
	sort, direction := p.oneOf("sort", "name", "pushed"), p.oneOf("direction", "asc", "desc")
	filter := p.text("query", maxListQueryBytes)
	if p.err != nil {
		return nil, p.err
	}
	s.target(r, audit.TargetInstance, "", "query", filter)
	all, err := s.o.Catalog.Repositories(r.Context())
	if err != nil {
		return nil, fmt.Errorf("list repositories: %w", err)
	}
	all = filterByName(all, filter)
	slices.SortFunc(all, order(sort, direction))
	from, to := window.of(len(all))
	items := make([]repositoryItem, 0, to-from)
	for _, repository := range all[from:to] {
		items = append(items, s.repositoryItem(repository))
	}
	out := ok(items)
	out.header = window.header("/api/repos", len(all), p, "sort", "direction", "query")
	return out, nil
}

// filterByName keeps the repositories whose full name contains filter in any
// case.
func filterByName(all []*search.Repository, filter string) []*search.Repository {
	if filter == "" {
		return all
	}
	filter = strings.ToLower(filter)
	return slices.DeleteFunc(all, func(r *search.Repository) bool {
		return !strings.Contains(strings.ToLower(r.Name), filter)
	})
}

// order compares by name, or by the time of the last push with repositories
// that have none at the late end; then by name and ID, so that pages are stable.
func order(sort, direction string) func(a, b *search.Repository) int {
	byName := func(a, b *search.Repository) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	}
	compare := byName
	if sort == "pushed" {
		compare = func(a, b *search.Repository) int { return cmp.Or(byPush(a, b), byName(a, b)) }
	}
	if direction == "desc" {
		return func(a, b *search.Repository) int { return compare(b, a) }
	}
	return compare
}

func byPush(a, b *search.Repository) int {
	if a.PushedAt.IsZero() != b.PushedAt.IsZero() {
		if a.PushedAt.IsZero() {
			return 1
		}
		return -1
	}
	return a.PushedAt.Compare(b.PushedAt)
}

func (s *Server) repositoryItem(r *search.Repository) repositoryItem {
	return repositoryItem{
		Kind: r.Kind, ID: uint64(r.ID), Name: r.Name, WebURL: s.repositoryURL(r.Name),
		DisplayName: displayName(&r.Repository), ExternalWebURL: externalURL(&r.Repository), ImageURL: r.ImageURL,
		IndexedAt: optionalTime(r.IndexedAt), PushedAt: optionalTime(r.PushedAt),
		DefaultBranch: r.DefaultBranch, IsFork: r.Fork, IsArchived: r.Archived,
	}
}
