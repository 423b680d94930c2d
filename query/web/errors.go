package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/query/auth/oidc"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/plan"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/query/source"
)

// ErrNotReady is wrapped by errors of Options.Ready.
var ErrNotReady = errors.New("the accounts are not read yet")

// failure is how an error is shown. An empty text shows the text of the sentinel error.
type failure struct {
	err    error
	status int
	text   string
}

// failures maps errors to the texts for people. The first matching row counts. An error
// that matches none is a bug of ours, and its text goes to the log only.
var failures = []failure{
	{errNoPage, http.StatusNotFound, "There is no such page."},
	{errNoCode, http.StatusNotFound, "There is no such page, or you may not see what it shows. If it belongs to a private repository, sign in with an account that may read it."},
	{errNoFile, http.StatusNotFound, "There is no such file or directory at this revision of the repository. It may have been moved or deleted: a search by its name finds it."},
	{errNoRevision, http.StatusNotFound, "The repository has no such branch, tag or commit, or nothing of it is indexed yet."},
	{errCredential, http.StatusUnauthorized, "Sign in, or send a valid API key as Authorization: Bearer KEY."},
	{errNoContext, http.StatusNotFound, "There is no search context of that name."},
	{search.ErrBusy, http.StatusServiceUnavailable, "Too many searches are running at this moment. Please try again in a few seconds."},
	{front.ErrTooManyStreams, http.StatusServiceUnavailable, "Too many searches are running at this moment. Please try again in a few seconds."},
	{search.ErrUnavailable, http.StatusServiceUnavailable, "The server cannot search now. Please try again in a few seconds."},
	{plan.ErrPattern, http.StatusBadRequest, "The pattern is too large to be searched for. Please use a shorter one."},
	{errMethod, http.StatusMethodNotAllowed, "This address only accepts a form. Please use the page with the form."},
	{ErrNotReady, http.StatusServiceUnavailable, "The server has just been started and is still reading its accounts. Please try again in a moment."},
	{errOwnersOnly, http.StatusForbidden, "This page is for owners."},
	{errFormTooLarge, http.StatusRequestEntityTooLarge, "The form is too large."},
	{errFormType, http.StatusUnsupportedMediaType, "This is not a form of ours."},
	{errFormStale, http.StatusForbidden, "This form is from another sign-in. Please open the page again."},
	{auth.ErrBusy, http.StatusServiceUnavailable, "Many people sign in at this moment. Please try again."},
	{auth.ErrUnavailable, http.StatusServiceUnavailable, "The server cannot save this now. The change may have been applied: please check before you try again."},
	{auth.ErrTooMany, http.StatusConflict, "There are too many of these already. Please delete some first."},
	{auth.ErrUserNotFound, http.StatusNotFound, "There is no such member any more."},
	{auth.ErrNotActive, http.StatusConflict, "The member's state has changed. Please reload the page."},
	{auth.ErrLastOwnerRemoved, http.StatusConflict, "This is the last active owner: make another user an owner first."},
	{auth.ErrLastOwnerDemoted, http.StatusConflict, "This is the last active owner: make another user an owner first."},
	{auth.ErrSessionNotFound, http.StatusNotFound, "The session has ended already."},
	{auth.ErrKeyNotFound, http.StatusNotFound, "There is no such key any more."},
	{auth.ErrSavedSearchNotFound, http.StatusNotFound, "There is no such saved search, or it is not shared any more."},
	{auth.ErrInvitationNotFound, http.StatusNotFound, "There is no such invitation any more."},
	{auth.ErrInvitation, http.StatusForbidden, "This invitation has expired, was used or taken back, or is not for this e-mail address."},
	{auth.ErrIdentity, http.StatusForbidden, "You are known to the provider, but it could not be matched to an account here: it vouches for no e-mail address, or the address has an account that signs in another way. Please ask an owner of this server."},
	{auth.ErrForbidden, http.StatusForbidden, "You may not do this."},
	{auth.ErrInvalid, http.StatusUnprocessableEntity, "Some of these values are not valid. Please check them and try again."},
	{auth.ErrUnauthenticated, http.StatusForbidden, "You may not sign in here. An owner of this server can say why."},
	{oidc.ErrUnknown, http.StatusNotFound, "There is no such provider."},
	{oidc.ErrUnavailable, http.StatusBadGateway, "The provider cannot be reached at the moment. Please try again in a while; the server's log says more."},
	{oidc.ErrFlow, http.StatusBadRequest, "This sign-in was begun in another browser, took too long, or is over. Please begin again."},
	{oidc.ErrDenied, http.StatusForbidden, "The provider did not sign you in."},
	{oidc.ErrToken, http.StatusBadGateway, "The provider's answer cannot be trusted, so you are not signed in. The server's log says why."},
	{oidc.ErrEmail, http.StatusForbidden, "The provider vouches for no e-mail address of yours, and this server asks for one."},
	{oidc.ErrDomain, http.StatusForbidden, "E-mail addresses of your domain may not sign in here."},
	{source.ErrBusy, http.StatusServiceUnavailable, "Too many files are being read at this moment. Please try again in a few seconds."},
	{source.ErrTimeout, http.StatusServiceUnavailable, "Reading the repository took too long. Please try again."},
	{source.ErrUnavailable, http.StatusServiceUnavailable, "This server can show only what is indexed, because it has no mirror of the repository at hand. Please try the default branch, or try again later."},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, "The server took too long. Please try again."},
}

func failureOf(err error) failure {
	if throttled, ok := errors.AsType[*auth.ThrottledError](err); ok {
		return failure{err, http.StatusTooManyRequests, "There were too many failed attempts. Please wait " + formatWait(throttled.RetryAfter) + "."}
	}
	if seconds, ok := secondsToWait(err); ok {
		return failure{err, http.StatusTooManyRequests, "Too many requests. Please try again in " + formatWait(time.Duration(seconds)*time.Second) + "."}
	}
	for _, f := range failures {
		if errors.Is(err, f.err) {
			return f
		}
	}
	if f, ok := refusalOf(err); ok {
		return f
	}
	return failure{err: err, status: http.StatusInternalServerError}
}

// formatWait formats a time to wait.
func formatWait(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d seconds", max(int(d.Seconds()+0.999), 1))
	}
	return fmt.Sprintf("%d minutes", int(d.Minutes()+0.999))
}

// showError responds with a page that explains the error and how to continue.
func (s *Server) showError(w http.ResponseWriter, v *pageRequest, err error) {
	f := s.explainError(w, v, err)
	page := view{template: "error", title: "Not done", narrow: true, status: f.status, data: f.text}
	if f.status == http.StatusNotFound {
		page.title = "Not found"
	}
	if err := s.renderPage(w, v, page); err != nil {
		s.o.Logger.ErrorContext(v.r.Context(), "an error was not shown", "error", err)
		http.Error(w, "unexpected error", http.StatusInternalServerError)
	}
}

// explainError returns how to show err, and logs the details that are not shown.
func (s *Server) explainError(w http.ResponseWriter, v *pageRequest, err error) failure {
	f := failureOf(err)
	if throttled, ok := errors.AsType[*auth.ThrottledError](err); ok {
		w.Header().Set("Retry-After", strconv.Itoa(int(throttled.RetryAfter.Seconds()+0.999)))
	}
	if seconds, ok := secondsToWait(err); ok {
		setRetryAfter(w.Header(), seconds)
	}
	id := w.Header().Get("X-Request-Id")
	switch {
	case f.text == "":
		f.text = "Something went wrong here. The server's log has the cause under request ID " + id + "."
		s.o.Logger.ErrorContext(v.r.Context(), "page failed", "request_id", id, "path", v.r.URL.Path, "error", err)
	case f.status == http.StatusBadGateway || f.status == http.StatusServiceUnavailable:
		s.o.Logger.WarnContext(v.r.Context(), "page unavailable", "request_id", id, "path", v.r.URL.Path, "error", err)
	default:
		s.o.Logger.DebugContext(v.r.Context(), "page refused", "request_id", id, "path", v.r.URL.Path, "error", err)
	}
	return f
}

// formWithError shows a form again with the error: next to the field that err names, or
// above the form. Fields maps names of the API to those of the form where they differ; ""
// is the form as a whole.
func (s *Server) formWithError(w http.ResponseWriter, v *pageRequest, f form, err error, fields map[string]string) (form, int) {
	if invalid, ok := errors.AsType[*auth.FieldError](err); ok {
		name := invalid.Field
		if ours, known := fields[name]; known {
			name = ours
		}
		f.addError(name, toSentence(invalid.Reason))
		return f, http.StatusUnprocessableEntity
	}
	shown := s.explainError(w, v, err)
	f.addError("", shown.text)
	return f, shown.status
}

// toSentence turns an error's text into a sentence. It writes "characters" for "bytes",
// which is the word that people know.
func toSentence(text string) string {
	text = strings.ReplaceAll(text, " bytes", " characters")
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
