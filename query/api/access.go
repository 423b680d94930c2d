package api

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/quarrysearch/quarry/query/auth"
	"github.com/quarrysearch/quarry/schemas/account"
)

// accessObject is who may see a repository. Visibility is what counts; Decided is
// an owner's decision, absent if there is none.
type accessObject struct {
	Visibility account.Visibility `json:"visibility"`
	Decided    account.Visibility `json:"decided,omitempty"`
	Members    []account.UserID   `json:"members"`
}

func accessOf(a auth.Access) accessObject {
	out := accessObject{Visibility: a.Effective, Decided: a.Decided, Members: a.Members}
	if out.Members == nil {
		out.Members = []account.UserID{}
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
	return okReply(accessOf(access)), nil
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
	return okReply(accessOf(access)), nil
}
