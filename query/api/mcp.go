package api

import (
	"context"
	"net/http"

	"github.com/quarrysearch/quarry/query/mcp"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// newMCP returns the tools for AI agents, over the same services.
func (s *Server) newMCP() (*mcp.Server, error) {
	return mcp.New(mcp.Options{
		Searcher: s.o.Searcher, Views: s.o.Views, Catalog: s.o.Catalog, Source: s.o.Source, Visible: s.o.Gate.Visible, Screen: s.o.Screen,
		Note: s.noteCall, Secret: s.o.Secret, PublicURL: s.o.PublicURL, Version: s.o.Version,
		Now: s.o.Now, Logger: s.o.Logger, Registerer: s.o.Registerer,
	})
}

// noteCall writes down what an agent did: a request may be several calls, or none.
func (s *Server) noteCall(ctx context.Context, rec audit.Record) error {
	if x := exchangeIn(ctx); x != nil {
		rec.RequestID = x.id
	}
	return s.o.Audit.Note(ctx, rec)
}

// postMCP answers messages of the Model Context Protocol.
func (s *Server) postMCP(r *http.Request) (*reply, error) {
	out, err := s.mcp.Post(r)
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
