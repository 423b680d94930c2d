package web

import (
	"net/http"

	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// connectionsPath is the path of the connections page.
const connectionsPath = "/admin/connections"

func (s *Server) connectionsPage(w http.ResponseWriter, v *pageRequest) error {
	return s.showConnections(w, v, form{}, 0)
}

// showConnections lists the connections with the state of their syncs, webhooks and
// permissions.
func (s *Server) showConnections(w http.ResponseWriter, v *pageRequest, f form, status int) error {
	list, err := s.operationsOf(v).ListConnections(v.r.Context())
	if err != nil {
		return operationError(v, err)
	}
	return s.renderPage(w, v, view{template: "connections", title: s.texts.mustFormat("connections"), status: status, form: f, data: list})
}

// syncConnection requests an immediate sync of the connection that the form names.
func (s *Server) syncConnection(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	if f.Get("connection") == "" {
		return errNoPage
	}
	if _, err := s.operationsOf(v).SyncConnections(v.r.Context(), wire.ConnectionSyncRequest{Name: f.Get("connection")}); err != nil {
		return s.showRefusal(w, v, f, err, s.showConnections)
	}
	return redirectDone(w, v, connectionsPath, "sync-asked")
}
