package api

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
	"github.com/quarrysearch/quarry/schemas/pageurl"
)

// maxListQueryBytes bounds the filter of a list.
const maxListQueryBytes = 1024

func (s *Server) listRepositories(r *http.Request) (*reply, error) {
	p := queryParams(r)
	window := p.pageParam()
	sort, direction := p.wordParam("sort"), p.wordParam("direction")
	filter := p.textParam("query", maxListQueryBytes)
	connection := p.intParam("connectionId")
	if p.err != nil {
		return nil, p.err
	}
	front.ExchangeIn(r.Context()).SetAuditTarget(audit.TargetInstance, "", "query", filter)
	all, err := s.o.Catalog.Repositories(r.Context())
	if err != nil {
		return nil, fmt.Errorf("list repositories: %w", err)
	}
	key := listKey{visible: s.callerVisibility(r.Context()), sort: sort, filter: strings.ToLower(filter)}
	list := []*corpus.Repository{}
	if name, known := s.connectionName(all, key.visible, connection); known || connection == 0 {
		key.connection = name
		list = s.listings.listFor(all, key)
	}
	from, to := window.itemRange(len(list))
	items := make([]wire.Repository, 0, to-from)
	for i := from; i < to; i++ {
		if direction == "desc" {
			items = append(items, s.newRepository(list[len(list)-1-i]))
		} else {
			items = append(items, s.newRepository(list[i]))
		}
	}
	out := okReply(items)
	out.header = window.pageHeader("/api/repos", len(list), p, "sort", "direction", "query", "connectionId")
	return out, nil
}

func (s *Server) newRepository(r *corpus.Repository) wire.Repository {
	return wire.Repository{
		CodeHostType: wire.CodeHostType(r.Kind), RepoID: s.numberOf(r.ID), RepoName: r.Name,
		WebURL:          s.o.PublicURL + source.Address{Repository: r.Name, Kind: source.PageTree}.String(),
		RepoDisplayName: displayName(&r.Repository), ExternalWebURL: pageurl.New(&r.Repository).RepositoryURL(), ImageURL: r.ImageURL, Description: r.Description,
		IndexedAt: wire.At(r.IndexedAt), PushedAt: wire.At(r.PushedAt),
		DefaultBranch: r.DefaultBranch, IsFork: r.Fork, IsArchived: r.Archived,
		Visibility: wire.RepositoryVisibility(s.o.Gate.Visibility(&r.Repository)),
	}
}
