package web

import "net/http"

// home is the first page: what this server is, and where to go.
func (s *Server) home(w http.ResponseWriter, v *visit) error {
	return s.show(w, v, view{template: "home", title: "Code search", data: struct{ URL string }{s.o.PublicURL}})
}
