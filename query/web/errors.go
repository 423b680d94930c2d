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
	{errNoCode, http.StatusNotFound, "There is no such page, or you may not view it. If it belongs to a private repository, sign in with an account that may read it."},
	{errNoFile, http.StatusNotFound, "There is no such file or directory at this revision of the repository. It may have been moved or deleted. Try a search for its name."},
	{errNoRevision, http.StatusNotFound, "The repository has no such branch, tag or commit, or it has not been indexed yet."},
	{errCredential, http.StatusUnauthorized, "Sign in, or send a valid API key as Authorization: Bearer KEY."},
	{errNoContext, http.StatusNotFound, "There is no search context with this name."},
	{search.ErrBusy, http.StatusServiceUnavailable, "Too many searches are running. Try again in a few seconds."},
	{front.ErrTooManyStreams, http.StatusServiceUnavailable, "Too many searches are running. Try again in a few seconds."},
	{search.ErrUnavailable, http.StatusServiceUnavailable, "The server cannot search right now. Try again in a few seconds."},
	{plan.ErrPattern, http.StatusBadRequest, "The pattern is too large. Use a shorter one."},
	{errMethod, http.StatusMethodNotAllowed, "This URL only accepts a form. Use the page with the form."},
	{ErrNotReady, http.StatusServiceUnavailable, "The server has just started and is still loading its accounts. Try again in a moment."},
	{errOwnersOnly, http.StatusForbidden, "Only owners can view this page."},
	{errFormTooLarge, http.StatusRequestEntityTooLarge, "The form is too large."},
	{errFormSlow, http.StatusRequestTimeout, "The form did not arrive in time. Send it again."},
	{errFormCut, http.StatusBadRequest, "The form did not arrive completely. Send it again."},
	{errFormType, http.StatusUnsupportedMediaType, "The request is not a form that this server accepts."},
	{errFormStale, http.StatusForbidden, "This form belongs to another session. Reload the page."},
	{auth.ErrBusy, http.StatusServiceUnavailable, "Many people are signing in right now. Try again."},
	{auth.ErrUnavailable, http.StatusServiceUnavailable, "The server cannot save this right now. The change may have been applied, so check before you try again."},
	{auth.ErrTooMany, http.StatusConflict, "The limit is reached. Delete some first."},
	{auth.ErrUserNotFound, http.StatusNotFound, "This member no longer exists."},
	{auth.ErrNotActive, http.StatusConflict, "The member's state has changed. Reload the page."},
	{auth.ErrLastOwnerRemoved, http.StatusConflict, "This is the last active owner: make another user an owner first."},
	{auth.ErrLastOwnerDemoted, http.StatusConflict, "This is the last active owner: make another user an owner first."},
	{auth.ErrSessionNotFound, http.StatusNotFound, "The session has ended already."},
	{auth.ErrKeyNotFound, http.StatusNotFound, "This key no longer exists."},
	{auth.ErrSavedSearchNotFound, http.StatusNotFound, "This saved search does not exist or is no longer shared."},
	{auth.ErrInvitationNotFound, http.StatusNotFound, "This invitation no longer exists."},
	{auth.ErrReset, http.StatusForbidden, "This link has expired or was used, or the password has changed since. An owner can create another one."},
	{auth.ErrInvitation, http.StatusForbidden, "This invitation has expired, was used or revoked, or is for another email address."},
	{auth.ErrIdentity, http.StatusForbidden, "The provider recognized you, but no account here could be matched: it did not confirm an email address, or the account with that address signs in another way. Ask an owner of this server."},
	{auth.ErrForbidden, http.StatusForbidden, "You may not do this."},
	{auth.ErrInvalid, http.StatusUnprocessableEntity, "Some of these values are invalid. Check them and try again."},
	{auth.ErrUnauthenticated, http.StatusForbidden, "You may not sign in here. Ask an owner of this server for the reason."},
	{oidc.ErrUnknown, http.StatusNotFound, "There is no such provider."},
	{oidc.ErrUnavailable, http.StatusBadGateway, "The provider cannot be reached right now. Try again later. The server's log has details."},
	{oidc.ErrFlow, http.StatusBadRequest, "This sign-in was started in another browser, took too long, or has already ended. Start again."},
	{oidc.ErrDenied, http.StatusForbidden, "The provider did not sign you in."},
	{oidc.ErrToken, http.StatusBadGateway, "The provider's response could not be verified, so you are not signed in. The server's log has the reason."},
	{oidc.ErrEmail, http.StatusForbidden, "The provider did not confirm an email address for you, and this server requires one."},
	{oidc.ErrDomain, http.StatusForbidden, "Email addresses of your domain may not sign in here."},
	{source.ErrBusy, http.StatusServiceUnavailable, "Too many files are being read. Try again in a few seconds."},
	{source.ErrTimeout, http.StatusServiceUnavailable, "Reading the repository took too long. Try again."},
	{source.ErrUnavailable, http.StatusServiceUnavailable, "This server has no mirror of the repository, so it can show only what is indexed. Try the default branch, or try again later."},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, "The server took too long. Try again."},
}

func failureOf(err error) failure {
	if throttled, ok := errors.AsType[*auth.ThrottledError](err); ok {
		return failure{err, http.StatusTooManyRequests, "Too many failed attempts. Please wait " + formatWait(throttled.RetryAfter) + "."}
	}
	if seconds, ok := secondsToWait(err); ok {
		return failure{err, http.StatusTooManyRequests, "Too many requests. Try again in " + formatWait(time.Duration(seconds)*time.Second) + "."}
	}
	if missing, ok := errors.AsType[*source.ObjectError](err); ok {
		return failure{err, http.StatusNotFound, "Git object " + missing.Object + " is missing or damaged in this server's mirror of the repository. Other files and revisions can still be shown. The operator of this server can have the repository fetched again."}
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
	page := view{template: "error", title: "Request failed", narrow: true, status: f.status, data: f.text}
	if f.status == http.StatusNotFound {
		page = view{template: "missing", title: s.texts.mustFormat("codeMissing"), status: f.status, data: &missingBody{Text: f.text}}
	}
	if err := s.renderPage(w, v, page); err != nil {
		s.o.Logger.ErrorContext(v.r.Context(), "error page could not be rendered", "error", err)
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
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	id := w.Header().Get("X-Request-Id")
	switch {
	case f.text == "":
		f.text = "Something went wrong. The server's log has the cause under request ID " + id + "."
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
