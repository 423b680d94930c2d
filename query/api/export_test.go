package api

// Routes returns method and path of every route.
func (s *Server) Routes() [][2]string {
	var out [][2]string
	for _, r := range s.routes() {
		out = append(out, [2]string{r.method, r.path})
	}
	return out
}

// ErrorCodes returns every code of the table of failures.
func ErrorCodes() []string {
	out := []string{"METHOD_NOT_ALLOWED", "UNEXPECTED_ERROR"}
	for _, f := range failures {
		out = append(out, f.code)
	}
	return out
}
