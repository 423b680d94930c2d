package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
	"github.com/quarrysearch/quarry/schemas/pageurl"
)

// newAccepted reports a durable event whose effect follows.
func newAccepted(number code.RepositoryNumber, r *code.Repository, at event.Position) wire.Accepted {
	return wire.Accepted{RepoID: number, RepoName: r.Name, Position: wire.PositionOf(at)}
}

func (s *Server) registerRepository(r *http.Request) (*reply, error) {
	var in wire.RegisterRequest
	if err := s.decodeBody(r, &in); err != nil {
		return nil, err
	}
	repository, selection, err := s.checkRegistration(r.Context(), &in)
	if repository.Name != "" {
		front.ExchangeIn(r.Context()).SetAuditTarget(audit.TargetRepository, repository.Name)
	}
	if err != nil {
		return nil, err
	}
	number, position, err := s.o.Registrar.Register(r.Context(), repository)
	if err != nil {
		return nil, fmt.Errorf("register %s: %w", repository.Name, err)
	}
	out := newAccepted(number, &repository, position)
	out.Selection = selection
	return acceptedReply(out), nil
}

// checkRegistration returns the repository that a request registers, and the refs that its globs
// select, or the reason why it is refused. The repository has its name as soon as that is known.
func (s *Server) checkRegistration(ctx context.Context, in *wire.RegisterRequest) (code.Repository, wire.RefSelection, error) {
	repository, err := newRepository(in)
	if err != nil {
		return code.Repository{}, wire.RefSelection{}, err
	}
	repository, knownURL, err := s.reconcileRegistration(ctx, repository, in.Name != "")
	if err != nil {
		return code.Repository{}, wire.RefSelection{}, err
	}
	selection, err := s.selectRefs(ctx, repository)
	if err = refuseRegistration(err, knownURL, repository.CloneURL); err != nil {
		return repository, selection, fmt.Errorf("register %s: %w", repository.Name, err)
	}
	return repository, selection, nil
}

// PreviewRegistration returns the name that a request would register, and the refs that its
// globs select, without registering anything. A request that would be refused has an error in
// place of a name.
func (s *Server) PreviewRegistration(ctx context.Context, in *wire.RegisterRequest) (name string, selection wire.RefSelection, refusal wire.Error) {
	repository, selection, err := s.checkRegistration(ctx, in)
	if err != nil {
		return "", wire.RefSelection{}, newError(err, "")
	}
	return repository.Name, selection, wire.Error{}
}

// selectTimeout bounds how long a response waits for a code host to list its refs.
const selectTimeout = 10 * time.Second

// selectRefs returns the refs that the globs of a repository select; empty if it has no
// globs.
func (s *Server) selectRefs(ctx context.Context, repository code.Repository) (wire.RefSelection, error) {
	if s.o.SelectRefs == nil {
		return wire.RefSelection{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, selectTimeout)
	defer cancel()
	return s.o.SelectRefs(ctx, repository)
}

// refuseRegistration returns the reason why a repository is not registered, or nil. err
// is that of listing its refs. knownURL is the clone URL with which it is registered;
// empty if it is not.
//
// A repository that is registered with this clone URL is not refused: its host may be
// down for a moment. Another clone URL must have worked once before it replaces the known
// one. Of a new repository, the failure must show that there is none at the clone URL, or
// that its host does not answer; a slow host gets the benefit of the doubt.
func refuseRegistration(err error, knownURL, cloneURL string) error {
	switch {
	case err == nil, errors.Is(err, failure.ErrRefused), errors.Is(err, failure.ErrUnavailable):
		return err
	case knownURL == cloneURL:
		return nil
	case knownURL != "":
		return fmt.Errorf("%w: the clone URL stays %s, because the new one cannot be listed: %w", failure.ErrRefused, knownURL, err)
	}
	switch failure.CodeOf(err) {
	case failure.Vanished:
		return fmt.Errorf("%w: the repository is not registered: %w", failure.ErrRefused, err)
	case failure.Refused, failure.Unauthorized, failure.Unreachable, failure.Git:
		return fmt.Errorf("%w: the repository is not registered, because its refs cannot be listed: %w", failure.ErrRefused, err)
	}
	return nil // the import reports it
}

// newRepository validates the request and fills in defaults.
func newRepository(in *wire.RegisterRequest) (code.Repository, error) {
	address := in.CloneURL + in.Path
	clone, err := code.ParseCloneURL(address)
	if err != nil {
		return code.Repository{}, fmt.Errorf("%w: %w", errBody, err)
	}
	if address, err = code.NormalizeCloneURL(address); err != nil {
		return code.Repository{}, fmt.Errorf("%w: %w", errBody, err)
	}
	r := code.Repository{
		ID: clone.RepositoryID(), Kind: code.HostKind(in.CodeHostType), Name: in.Name, DisplayName: in.DisplayName,
		CloneURL: address, WebURL: in.WebURL, Branches: in.Branches, Tags: in.Tags,
	}
	if r.Name == "" {
		r.Name = clone.Name()
	}
	fillHost(&r, clone)
	return r, checkRepository(&r)
}

// publicHost returns the kind of a well-known host, for which kind and pages follow from
// the clone URL.
func publicHost(host string) (code.HostKind, bool) {
	switch host {
	case "github.com":
		return code.GitHub, true
	case "gitlab.com":
		return code.GitLab, true
	case "gitea.com", "codeberg.org":
		return code.Gitea, true
	case "bitbucket.org":
		return code.BitbucketCloud, true
	}
	return code.GenericGitHost, false
}

func fillHost(r *code.Repository, clone code.CloneURL) {
	kind, known := publicHost(clone.Host)
	if r.Kind == "" {
		r.Kind = kind
	}
	if known && r.WebURL == "" {
		r.WebURL = "https://" + clone.Name()
	}
}

func checkRepository(r *code.Repository) error {
	switch {
	case !r.Kind.Valid():
		return fmt.Errorf("%w: codeHostType: %.40q is not a known code host type", errBody, string(r.Kind))
	case len(r.DisplayName) > code.MaxNameBytes || hasControl(r.DisplayName):
		return fmt.Errorf("%w: displayName: want at most %d bytes of one line", errBody, code.MaxNameBytes)
	case r.WebURL != "" && (pageurl.New(r).RepositoryURL() == "" || len(r.WebURL) > code.MaxURLBytes || hasControl(r.WebURL)):
		return fmt.Errorf("%w: webUrl: want an http(s) URL of at most %d bytes", errBody, code.MaxURLBytes)
	}
	if err := errors.Join(checkGlobs("branches", r.Branches), checkGlobs("tags", r.Tags)); err != nil {
		return err
	}
	return checkName(r.Name)
}

func checkGlobs(field string, globs []string) error {
	if len(globs) > code.MaxRefGlobs {
		return fmt.Errorf("%w: %s: want at most %d globs, have %d", errBody, field, code.MaxRefGlobs, len(globs))
	}
	for _, glob := range globs {
		if glob == "" || len(glob) > code.MaxRefGlobBytes || hasControl(glob) {
			return fmt.Errorf("%w: %s: want globs of 1 to %d bytes, have %.40q", errBody, field, code.MaxRefGlobBytes, glob)
		}
	}
	return nil
}

// checkName limits names to those that a page address and a query can express.
func checkName(name string) error {
	if len(name) > code.MaxNameBytes || hasControl(name) || !utf8.ValidString(name) || strings.ContainsAny(name, "@,") {
		return fmt.Errorf("%w: name: want 1 to %d bytes of one line without '@' and ','; give another name", errBody, code.MaxNameBytes)
	}
	if slices.ContainsFunc(strings.Split(name, "/"), func(e string) bool { return e == "" || e == "." || e == ".." || e == "-" }) {
		return fmt.Errorf("%w: name: %.80q has an element that is empty, \".\", \"..\" or \"-\"; give another name", errBody, name)
	}
	return nil
}

func hasControl(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }

// reconcileRegistration preserves the ID and, unless the request sets them, the name and
// the globs of a repository that is registered with the same clone URL, and returns the
// clone URL as it is registered; empty if it is not. It refuses a name that another
// repository has.
func (s *Server) reconcileRegistration(ctx context.Context, repository code.Repository, named bool) (_ code.Repository, knownURL string, err error) {
	known, err := s.o.Catalog.Find(ctx, repository)
	for err == nil && !isSameAddress(known.CloneURL, repository.CloneURL) {
		// It had this clone URL before its host moved it, and another repository has it
		// now.
		repository.ID = code.NewRepositoryID(repository.ID.String(), repository.CloneURL)
		known, err = s.o.Catalog.Find(ctx, repository)
	}
	switch {
	case err == nil:
		repository.ID, repository.Connection = known.ID, known.Connection
		repository.DefaultBranch, repository.ImageURL, repository.Description = known.DefaultBranch, known.ImageURL, known.Description
		repository.Fork, repository.Archived, repository.Private = known.Fork, known.Archived, known.Private
		if repository.Branches == nil {
			repository.Branches = known.Branches
		}
		if repository.Tags == nil {
			repository.Tags = known.Tags
		}
		if !named {
			repository.Name, repository.DisplayName = known.Name, known.DisplayName
		}
	case !errors.Is(err, code.ErrNotFound):
		return repository, "", fmt.Errorf("find %s: %w", repository.Name, err)
	}
	other, err := s.o.Catalog.Find(ctx, code.Repository{Name: repository.Name})
	if err == nil && other.ID != repository.ID {
		return repository, "", fmt.Errorf("%w: the name %q belongs to %s; give another name", errTaken, repository.Name, other.CloneURL)
	}
	if err != nil && !errors.Is(err, code.ErrNotFound) {
		return repository, "", fmt.Errorf("find %s: %w", repository.Name, err)
	}
	return repository, known.CloneURL, nil
}

func isSameAddress(a, b string) bool {
	x, err1 := code.ParseCloneURL(a)
	y, err2 := code.ParseCloneURL(b)
	return err1 == nil && err2 == nil && x.Same(y)
}

func (s *Server) removeRepository(r *http.Request) (*reply, error) {
	known, err := s.knownRepository(r)
	if err != nil {
		return nil, err
	}
	position, err := s.o.Registrar.Remove(r.Context(), known.ID, "removed by the API")
	if err != nil {
		return nil, fmt.Errorf("remove %s: %w", known.Name, err)
	}
	return acceptedReply(newAccepted(s.numberOf(known.ID), &known, position)), nil
}

func (s *Server) refreshRepository(r *http.Request) (*reply, error) {
	known, err := s.knownRepository(r)
	if err != nil {
		return nil, err
	}
	position, err := s.o.Registrar.Refresh(r.Context(), known.ID)
	if err != nil {
		return nil, fmt.Errorf("refresh %s: %w", known.Name, err)
	}
	out := newAccepted(s.numberOf(known.ID), &known, position)
	if len(known.Branches)+len(known.Tags) > 0 {
		out.Selection, _ = s.selectRefs(r.Context(), known) // the import reports the reason
	}
	return acceptedReply(out), nil
}

// knownRepository returns the registered repository of {repoId} for a change.
func (s *Server) knownRepository(r *http.Request) (code.Repository, error) {
	known, err := s.visibleByID(r)
	if err != nil {
		return known, err
	}
	front.ExchangeIn(r.Context()).SetAuditTarget(audit.TargetRepository, known.Name)
	return known, nil
}
