package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/quarrysearch/quarry/query/corpus"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/mcp"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
)

// newMCP returns the tools for AI agents, which use the same services.
func (s *Server) newMCP() (*mcp.Server, error) {
	return mcp.New(mcp.Options{
		Searcher: s.o.Searcher, FileFinder: s.o.FileFinder, Index: visibleIndex{s}, Source: s.o.Source, Outline: s.o.Outline, Precise: s.o.Precise, Note: s.noteCall,
		Behind: func() bool { return s.isBehind(s.o.Coverage()) },
		Secret: s.o.Secret, PublicURL: s.o.PublicURL, Version: s.o.Version,
		ParseQuery: s.o.Accounts.ParseQuery,
		Now:        s.o.Now, Logger: s.o.Logger, Registerer: s.o.Registerer,
	})
}

// visibleIndex implements mcp.VisibleIndex: it returns what exists for the caller.
type visibleIndex struct{ server *Server }

var _ mcp.VisibleIndex = visibleIndex{}

// View implements mcp.VisibleIndex.
func (g visibleIndex) View(ctx context.Context) (corpus.View, error) {
	v, _, err := g.server.openView(ctx)
	return v, err
}

// Repository implements mcp.VisibleIndex.
func (g visibleIndex) Repository(ctx context.Context, name string) (*code.Repository, error) {
	return g.server.visibleRepository(ctx, name)
}

// Repositories implements mcp.VisibleIndex.
func (g visibleIndex) Repositories(ctx context.Context, sort, filter string) ([]*corpus.Repository, error) {
	all, err := g.server.o.Catalog.Repositories(ctx)
	if err != nil {
		return nil, fmt.Errorf("list repositories: %w", err)
	}
	return g.server.listings.listFor(all, listKey{visible: g.server.callerVisibility(ctx), sort: sort, filter: strings.ToLower(filter)}), nil
}

// noteCall records a tool call of an agent: a request may contain several calls, or none.
func (s *Server) noteCall(ctx context.Context, rec audit.Record) error {
	rec.RequestID = front.ExchangeIn(ctx).ID()
	return s.o.Audit.Note(ctx, rec)
}

// postMCP handles messages of the Model Context Protocol.
func (s *Server) postMCP(r *http.Request) (*reply, error) {
	out, err := s.mcp.Post(r)
	if errors.Is(err, mcp.ErrBody) {
		return nil, s.bodyError(err)
	}
	if err != nil {
		return nil, err
	}
	return &reply{status: out.Status, header: out.Header, body: out.Body}, nil
}

// endMCP ends a session.
func (s *Server) endMCP(r *http.Request) (*reply, error) {
	if err := s.mcp.Delete(r); err != nil {
		return nil, err
	}
	return &reply{status: http.StatusNoContent, body: []byte(nil)}, nil
}
