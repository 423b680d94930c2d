package web

import (
	"net/http"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
)

// recordRead records in the audit log that the visitor has read something, or was
// refused. metadata holds pairs of name and value.
func (s *Server) recordRead(w http.ResponseWriter, v *pageRequest, action audit.Action, status int, metadata ...string) error {
	if s.o.Audit == nil {
		return nil
	}
	rec := audit.Record{
		At: s.o.Now().UTC(), Action: action, Actor: s.actorOf(v), TargetType: audit.TargetInstance,
		RequestID: w.Header().Get("X-Request-Id"), Status: status,
	}
	for i := 0; i+1 < len(metadata); i += 2 {
		if rec.Metadata == nil {
			rec.Metadata = map[string]string{}
		}
		rec.Metadata[metadata[i]] = metadata[i+1]
	}
	return s.o.Audit.Note(v.r.Context(), rec)
}

// recordRefusal is recordRead for a request that is refused in any case: an error of the
// audit log does not change the response.
func (s *Server) recordRefusal(w http.ResponseWriter, v *pageRequest, action audit.Action, status int, metadata ...string) {
	if err := s.recordRead(w, v, action, status, metadata...); err != nil {
		s.o.Logger.WarnContext(v.r.Context(), "a refusal is not in the audit log", "action", string(action), "error", err)
	}
}

func (s *Server) actorOf(v *pageRequest) account.Actor {
	if v.user != nil {
		return v.principal.Actor
	}
	return s.o.Accounts.Origin(v.r)
}
