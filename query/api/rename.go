package api

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

func (s *Server) renameRepository(r *http.Request) (*reply, error) {
	var in wire.RenameRequest
	if err := s.decodeBody(r, &in); err != nil {
		return nil, err
	}
	if in == (wire.RenameRequest{}) {
		return nil, fmt.Errorf("%w: want name or cloneUrl, have none", errBody)
	}
	known, err := s.knownRepository(r)
	if err != nil {
		return nil, err
	}
	if known.Connection != "" {
		return nil, fmt.Errorf("%w: name and clone URL of %s come from the connection %q; rename it at its code host, "+
			"and the next push or sync takes them over", failure.ErrConflict, known.Name, known.Connection)
	}
	renamed, kind, err := describeRename(known, &in)
	if err != nil {
		return nil, fmt.Errorf("rename %s: %w", known.Name, err)
	}
	for _, candidate := range []code.Repository{{Name: renamed.Name}, {CloneURL: renamed.CloneURL}} {
		switch other, err := s.o.Catalog.Find(r.Context(), candidate); {
		case err == nil && other.ID != known.ID && candidate.Name == "":
			return nil, fmt.Errorf("%w: the clone URL %s belongs to %s", errTaken, renamed.CloneURL, other.Name)
		case err == nil && other.ID != known.ID:
			return nil, fmt.Errorf("%w: the name %q belongs to %s; give another name", errTaken, other.Name, other.CloneURL)
		case err != nil && !errors.Is(err, code.ErrNotFound):
			return nil, fmt.Errorf("rename %s: %w", known.Name, err)
		}
	}
	if kind != known.Kind { // projections do not apply an event that changes it
		return nil, fmt.Errorf("%w: %s is a repository of the kind %s, and the new clone URL is of the kind %s; "+
			"remove the repository and register it again", failure.ErrConflict, known.Name, known.Kind, kind)
	}
	if renamed.CloneURL != known.CloneURL {
		front.ExchangeIn(r.Context()).AddMetadata("cloneUrl", renamed.CloneURL)
		front.ExchangeIn(r.Context()).AddMetadata("formerCloneUrl", known.CloneURL)
		_, err := s.selectRefs(r.Context(), renamed)
		if err = refuseRegistration(err, known.CloneURL, renamed.CloneURL); err != nil {
			return nil, fmt.Errorf("rename %s: %w", known.Name, err)
		}
	}
	if renamed.Name != known.Name {
		front.ExchangeIn(r.Context()).AddMetadata("name", renamed.Name)
	}
	position, err := s.o.Registrar.Rename(r.Context(), known, renamed)
	if err != nil {
		return nil, fmt.Errorf("rename %s: %w", known.Name, err)
	}
	return acceptedReply(newAccepted(s.numberOf(known.ID), &renamed, position)), nil
}

// describeRename returns the description of a repository that was registered by hand
// under its new name and clone URL, and the kind of the code host at the new clone URL.
// What follows from the former clone URL follows from the new one.
func describeRename(known code.Repository, in *wire.RenameRequest) (renamed code.Repository, kind code.HostKind, err error) {
	renamed, kind = known, known.Kind
	if in.CloneURL != "" {
		clone, err := code.ParseCloneURL(in.CloneURL)
		if err != nil {
			return known, "", fmt.Errorf("%w: %w", errBody, err)
		}
		if renamed.CloneURL, err = code.NormalizeCloneURL(in.CloneURL); err != nil {
			return known, "", fmt.Errorf("%w: %w", errBody, err)
		}
		former, err := code.ParseCloneURL(known.CloneURL)
		if err != nil {
			return known, "", fmt.Errorf("clone URL of %s: %w", known.Name, err)
		}
		if known.Name == former.Name() {
			renamed.Name = clone.Name()
		}
		if is, public := publicHost(clone.Host); public && clone.Host != former.Host {
			kind = is
		}
		if !former.Same(clone) { // the page and the other name are those of the former address
			renamed.WebURL, renamed.DisplayName = "", ""
			fillHost(&renamed, clone)
		}
	}
	if in.Name != "" {
		renamed.Name, renamed.DisplayName = in.Name, ""
	}
	return renamed, kind, checkRepository(&renamed)
}
