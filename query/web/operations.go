package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/client"
)

// Pages that show and change the state of the server call operations of the API, in this
// process and as the visitor: an operation checks, hides, bounds and records the same for
// a page as for other callers.

// maxOperationBytes bounds the response of an operation that a page shows.
const maxOperationBytes = 16 << 20

// operationsTimeout bounds the operations of one page.
const operationsTimeout = 20 * time.Second

// errAnswerTooLarge reports that the response of an operation is too large for a page.
var errAnswerTooLarge = errors.New("the answer is too large for a page")

// operationRoutes returns the routes of pages that call operations of the API.
func (s *Server) operationRoutes() []route {
	routes := []route{
		{http.MethodGet, "/repos", accessOpen, s.reposPage},
		{http.MethodGet, symbolsPath, accessOpen, s.symbolPage},
		{http.MethodGet, findPath, accessOpen, s.findPage},
		{http.MethodGet, "/admin/register", accessOwner, s.newRepoPage},
		{http.MethodPost, "/admin/register", accessOwner, s.registerRepo},
		{http.MethodGet, "/repos/{id}", accessOpen, s.repoPage},
		{http.MethodPost, "/repos/{id}", accessOwner, s.changeRepo},
		{http.MethodGet, "/repos/{id}/skipped", accessOpen, s.skippedFilesPage},
		{http.MethodGet, "/deliveries", accessOwner, s.deliveriesPage},
		{http.MethodGet, "/deliveries/{key}", accessOwner, s.deliveryPage},
		{http.MethodPost, "/deliveries/{key}", accessOwner, s.redeliver},
		{http.MethodGet, "/admin", accessOwner, s.adminPage},
		{http.MethodGet, connectionsPath, accessOwner, s.connectionsPage},
		{http.MethodPost, connectionsPath, accessOwner, s.postConnections},
		{http.MethodGet, "/admin/deadletters", accessOwner, s.deadLettersPage},
		{http.MethodPost, "/admin/deadletters", accessOwner, s.resolveDeadLetter},
		{http.MethodGet, "/admin/deadletters/{id}", accessOwner, s.deadLetterPage},
		{http.MethodGet, "/admin/replays", accessOwner, s.replaysPage},
		{http.MethodPost, "/admin/replays", accessOwner, s.changeReplays},
		{http.MethodGet, "/admin/audit", accessOwner, s.auditPage},
	}
	for i := range routes {
		routes[i].page = limitTime(routes[i].page)
	}
	return append(routes, route{http.MethodGet, verifyPath, accessOwner, s.verifyPage}, route{http.MethodPost, verifyPath, accessOwner, s.showVerification})
}

// limitTime bounds the operations of a page.
func limitTime(page pageHandler) pageHandler {
	return func(w http.ResponseWriter, v *pageRequest) error {
		ctx, cancel := context.WithTimeout(v.r.Context(), operationsTimeout)
		defer cancel()
		visit := v.r
		v.r = visit.WithContext(ctx)
		defer func() { v.r = visit }() // for an error page that may follow
		return page(w, v)
	}
}

// operationsOf returns a client that calls operations of the API as the visitor.
func (s *Server) operationsOf(v *pageRequest) *client.Client {
	return s.clientOf(v, inProcess{s.o.API, v.r})
}

// clientOf returns a client of the API with a transport to this process.
func (s *Server) clientOf(v *pageRequest, transport http.RoundTripper) *client.Client {
	c, err := client.New(s.public.Origin(), client.Options{Transport: transport, Retries: client.NoRetries, UserAgent: v.r.UserAgent()})
	if err != nil {
		panic("web: " + err.Error()) // New has checked PublicURL
	}
	return c
}

// inProcess is a transport to a handler of this process, which sends each request as the
// visitor.
type inProcess struct {
	api   http.Handler
	visit *http.Request
}

// forwarded are the headers of a visit that identify its sender and origin.
var forwarded = []string{"Cookie", "Authorization", "Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest", "Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-Ip"}

// asVisitor returns a request in the form in which the visitor would send it.
func (t inProcess) asVisitor(r *http.Request) *http.Request {
	in := r.Clone(r.Context())
	in.RequestURI = r.URL.RequestURI()
	in.RemoteAddr, in.Host, in.TLS = t.visit.RemoteAddr, t.visit.Host, t.visit.TLS
	for _, name := range forwarded {
		if values := t.visit.Header.Values(name); len(values) > 0 {
			in.Header[name] = values
		}
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	return in
}

// RoundTrip implements http.RoundTripper.
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := &answer{header: http.Header{}}
	t.api.ServeHTTP(w, t.asVisitor(r))
	if w.overflow {
		return nil, fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, errAnswerTooLarge)
	}
	w.WriteHeader(http.StatusOK)
	return newAnswer(r, w.status, w.header, io.NopCloser(&w.body), int64(w.body.Len())), nil
}

// newAnswer returns the response of a handler of this process.
func newAnswer(r *http.Request, status int, header http.Header, body io.ReadCloser, length int64) *http.Response {
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: body, ContentLength: length, Request: r,
	}
}

// answer buffers the response of a handler.
type answer struct {
	header   http.Header
	status   int // 0 until the header is written
	body     bytes.Buffer
	overflow bool
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
}

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.body.Len()+len(b) > maxOperationBytes {
		a.overflow = true
		return 0, errAnswerTooLarge
	}
	return a.body.Write(b)
}

// operationError converts an error of an operation to one of pages: visitors without the
// permission must sign in or be an owner, and hidden objects look as if they did not
// exist.
func operationError(v *pageRequest, err error) error {
	refusal, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err
	}
	switch refusal.StatusCode {
	case http.StatusUnauthorized:
		return errSignInFirst
	case http.StatusForbidden:
		if v.user == nil {
			return errSignInFirst
		}
		return fmt.Errorf("%w: %w", auth.ErrForbidden, err)
	case http.StatusNotFound:
		return fmt.Errorf("%w: %w", errNoPage, err)
	}
	return err
}

// refusalOf returns how an error of an operation is shown, if the API explains it.
func refusalOf(err error) (failure, bool) {
	refusal, ok := errors.AsType[*client.Error](err)
	if !ok || refusal.Message == "" || refusal.StatusCode == http.StatusInternalServerError {
		return failure{}, false
	}
	return failure{err, refusal.StatusCode, toSentence(refusal.Message)}, true
}

// refusedOperation returns the message of a refused operation, with which its form is
// shown again. ok is false for errors that have a separate page.
func refusedOperation(err error) (message string, status int, ok bool) {
	refusal, found := errors.AsType[*client.Error](err)
	if !found || refusal.Message == "" {
		return "", 0, false
	}
	switch refusal.StatusCode {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return refusal.Message, refusal.StatusCode, true
	}
	return "", 0, false
}

// showRefusal shows the page of a form again with the error of its operation; an error
// without a text for people becomes an error page.
func (s *Server) showRefusal(w http.ResponseWriter, v *pageRequest, f form, err error, show func(http.ResponseWriter, *pageRequest, form, int) error) error {
	message, status, ok := refusedOperation(err)
	if !ok {
		return operationError(v, err)
	}
	f.addError("", toSentence(message))
	return show(w, v, f, status)
}
