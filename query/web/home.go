package web

import "net/http"

// homePage is the first page: what this server is, and where to go.
func (s *Server) homePage(w http.ResponseWriter, v *pageRequest) error {
	return s.renderPage(w, v, view{template: "home", title: "Code search", data: struct{ URL string }{s.o.PublicURL}})
}
