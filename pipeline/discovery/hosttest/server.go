package hosttest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Repo is a repository of a contract server.
type Repo struct {
	ID          int
	Owner, Name string
	Private     bool
	Archived    bool
	Fork        bool
	Branch      string
	Topics      []string
}

// Repos returns n repositories of an owner.
func Repos(owner string, n int) []Repo {
	out := make([]Repo, n)
	for i := range out {
		out[i] = Repo{ID: i + 1, Owner: owner, Name: fmt.Sprintf("repo-%05d", i+1), Branch: "main"}
	}
	return out
}

// Fault is a way in which a Server responds instead of the API.
type Fault string

// Faults of a Server.
const (
	HTML         Fault = "HTML in place of JSON"
	Unauthorized Fault = "401"
	Forbidden    Fault = "403"
	NotFound     Fault = "404"
	Failing      Fault = "500"
	Garbage      Fault = "JSON of another shape"
	Cut          Fault = "an answer that ends in the middle"
	Elsewhere    Fault = "a redirect to another host"
	Endless      Fault = "an answer without an end"
)

// Server is a contract server.
type Server struct {
	*httptest.Server
	handler http.Handler

	mu struct {
		sync.Mutex
		faults      map[string]Fault // by a part of the path
		requests    int
		notModified int
		refuse      int // the number of requests still to refuse for their rate
		refusal     func(w http.ResponseWriter)
		headers     []http.Header
		onRequest   func()
	}
}

// NewServer starts a server for a handler, with TLS if secure is set.
func NewServer(t testing.TB, secure bool, handler func(base string) http.Handler) *Server {
	s := &Server{}
	s.mu.faults = map[string]Fault{}
	if secure {
		s.Server = httptest.NewTLSServer(s)
	} else {
		s.Server = httptest.NewServer(s)
	}
	s.handler = handler(s.URL)
	t.Cleanup(s.Close)
	return s
}

// SetFault makes requests fail whose path contains part.
func (s *Server) SetFault(part string, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.faults[part] = f
}

// ClearFaults makes all requests succeed.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.mu.faults)
}

// RefuseNext refuses the next n requests with the response that refusal writes.
func (s *Server) RefuseNext(n int, refusal func(w http.ResponseWriter)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.refuse, s.mu.refusal = n, refusal
}

// Requests returns the number of requests, and how many of them were answered with 304.
func (s *Server) Requests() (all, notModified int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.requests, s.mu.notModified
}

// Headers returns the headers of all requests.
func (s *Server) Headers() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.headers
}

// OnRequest sets a function that is called at each request.
func (s *Server) OnRequest(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.onRequest = f
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.mu.requests++
	if s.mu.requests <= 1000 {
		s.mu.headers = append(s.mu.headers, r.Header.Clone())
	}
	var refusal func(http.ResponseWriter)
	if s.mu.refuse > 0 {
		s.mu.refuse--
		refusal = s.mu.refusal
	}
	fault := Fault("")
	for part, f := range s.mu.faults {
		if strings.Contains(r.URL.Path, part) {
			fault = f
		}
	}
	onRequest := s.mu.onRequest
	s.mu.Unlock()
	if onRequest != nil {
		onRequest()
	}
	switch {
	case refusal != nil:
		refusal(w)
	case fault != "":
		writeFault(w, r, fault)
	default:
		s.serveAnswer(w, r)
	}
}

// serveAnswer adds an ETag to the handler's response, and answers conditional requests.
func (s *Server) serveAnswer(w http.ResponseWriter, r *http.Request) {
	recorder := httptest.NewRecorder()
	s.handler.ServeHTTP(recorder, r)
	sum := sha256.Sum256(recorder.Body.Bytes())
	etag := `"` + hex.EncodeToString(sum[:8]) + `"`
	for name, values := range recorder.Header() {
		w.Header()[name] = values
	}
	if recorder.Code == http.StatusOK && r.Method == http.MethodGet {
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			s.mu.Lock()
			s.mu.notModified++
			s.mu.Unlock()
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.WriteHeader(recorder.Code)
	_, _ = w.Write(recorder.Body.Bytes()) // the client notices an incomplete response
}

func writeFault(w http.ResponseWriter, r *http.Request, f Fault) {
	status := map[Fault]int{Unauthorized: 401, Forbidden: 403, NotFound: 404, Failing: 500}[f]
	switch f {
	case HTML:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!DOCTYPE html><html><title>Sign in</title></html>"))
	case Garbage:
		WriteJSON(w, http.StatusOK, 7)
	case Cut:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(`[{"id":1,`))
	case Elsewhere:
		http.Redirect(w, r, "http://elsewhere.invalid/", http.StatusFound)
	case Endless:
		w.Header().Set("Content-Type", "application/json")
		for range 64 {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	default:
		WriteJSON(w, status, map[string]string{"message": "the host says no"})
	}
}

// WriteJSON writes a JSON response.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client notices an incomplete response
}

// WriteNotFound writes the response of hosts for an unknown object.
func WriteNotFound(w http.ResponseWriter) {
	WriteJSON(w, http.StatusNotFound, map[string]string{"message": "Not Found"})
}

// Page returns the part of repos that a request selects by page and size, and adds a link
// to the next page as GitHub, GitLab and Gitea do.
func Page(w http.ResponseWriter, r *http.Request, base, sizeName string, maxSize int, repos []Repo) []Repo {
	q := r.URL.Query()
	page, err := strconv.Atoi(q.Get("page"))
	if err != nil || page < 1 {
		page = 1
	}
	size, err := strconv.Atoi(q.Get(sizeName))
	if err != nil || size < 1 || size > maxSize {
		size = maxSize
	}
	from, to := min((page-1)*size, len(repos)), min(page*size, len(repos))
	if to < len(repos) {
		q.Set("page", strconv.Itoa(page+1))
		w.Header().Set("Link", fmt.Sprintf("<%s%s?%s>; rel=\"next\"", base, r.URL.Path, q.Encode()))
		w.Header().Set("X-Next-Page", strconv.Itoa(page+1))
	}
	w.Header().Set("X-Total-Count", strconv.Itoa(len(repos)))
	w.Header().Set("X-Total", strconv.Itoa(len(repos)))
	return repos[from:to]
}

// RefuseByRetryAfter returns a refusal that names the wait in Retry-After.
func RefuseByRetryAfter(status int, wait time.Duration) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())))
		WriteJSON(w, status, map[string]string{"message": "You have exceeded a secondary rate limit."})
	}
}

// RefuseByReset returns a refusal like that of GitHub's primary limit.
func RefuseByReset(at time.Time) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("X-RateLimit-Remaining", "0")
		w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(at.Unix(), 10))
		WriteJSON(w, http.StatusForbidden, map[string]string{"message": "API rate limit exceeded for user ID 1."})
	}
}
