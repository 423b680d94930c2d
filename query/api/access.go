package api

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/gorilla/mux"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// newAccess converts who may see a repository. Visibility is the effective one; Decided
// is an owner's decision, absent if there is none.
func newAccess(a auth.Access) wire.Access {
	out := wire.Access{Visibility: wire.Visibility(a.Effective), Decided: wire.Visibility(a.Decided), Members: make([]string, len(a.Members))}
	for i, id := range a.Members {
		out.Members[i] = string(id)
	}
	return out
}

func (s *Server) repositoryAccess(a *auth.Service, r *http.Request) (*reply, error) {
	repository, err := s.knownRepository(r)
	if err != nil {
		return nil, err
	}
	access, err := a.Access(auth.From(r.Context()), &repository)
	if err != nil {
		return nil, err
	}
	return okReply(newAccess(access)), nil
}

// accessExplanations maps each reason to a sentence.
var accessExplanations = map[auth.AccessReason]string{
	auth.AccessByRole:    "Owners read every repository.",
	auth.AccessPublic:    "The repository is public.",
	auth.AccessInternal:  "The repository is internal: every user may read it.",
	auth.AccessMember:    "The repository is private, and the user is one of its members.",
	auth.AccessNotMember: "The repository is private, and the user is not one of its members.",
	auth.AccessByHost:    "The repository is private, and its code host lets the user read it.",
	auth.AccessHostStale: "The code host allowed the user to read the repository, but its permissions were last read too long ago.",
	auth.AccessNotJoined: "The repository is private, and the user's account on its code host is not known.",
	auth.AccessNotRead:   "The repository is private, and its permissions have not been read from the code host yet.",
	auth.AccessInactive:  "The user is not active: they are waiting for approval or are suspended.",
}

func (s *Server) explainRepositoryAccess(a *auth.Service, r *http.Request) (*reply, error) {
	repository, err := s.knownRepository(r)
	if err != nil {
		return nil, err
	}
	user := account.UserID(mux.Vars(r)["userId"])
	e, err := a.ExplainAccess(auth.From(r.Context()), &repository, user)
	if err != nil {
		return nil, err
	}
	out := wire.AccessExplanation{
		UserID: string(user), Readable: e.Readable, Reason: wire.AccessExplanationReason(e.Reason), Message: accessExplanations[e.Reason],
		Visibility: wire.Visibility(e.Visibility), Source: wire.AccessExplanationSource(e.Source),
	}
	if e.Host != nil {
		out.Host = wire.HostReading{Connection: e.Host.Connection, ReadAt: wire.At(e.Host.ReadAt), ExpiresAt: wire.At(e.Host.ExpiresAt)}
	}
	return okReply(out), nil
}

func (s *Server) setRepositoryAccess(a *auth.Service, r *http.Request) (*reply, error) {
	var body struct {
		Visibility account.Visibility `json:"visibility"`
		Members    []account.UserID   `json:"members"`
	}
	repository, err := s.knownRepository(r)
	if err == nil {
		err = s.decodeBody(r, &body)
	}
	if err != nil {
		return nil, err
	}
	access, err := a.SetAccess(r.Context(), auth.From(r.Context()), &repository, body.Visibility, body.Members)
	if errors.Is(err, auth.ErrUserNotFound) {
		err = fmt.Errorf("%w: members: %w", errBody, err)
	}
	if err != nil {
		return nil, err
	}
	return okReply(newAccess(access)), nil
}
