package discovery

import (
	"strconv"

	"github.com/quarrysearch/quarry/schemas/account"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Causes of a change, in the metadata of its audit record.
const (
	causeSync    = "sync"    // a listing of the host
	causeReading = "reading" // a reading of the host, after a delivery
)

// auditChange returns the audit record of an event that changes the existence, the
// visibility or the clone URL of a repository, and whether it changes one of them. known
// is the repository before, or nil.
func auditChange(ev event.Event, known *code.Repository, cause string) (audit.Record, bool) {
	var before code.Repository
	if known != nil {
		before = *known
	}
	r := audit.Record{Actor: account.Actor{Kind: account.ActorSystem}, TargetType: audit.TargetRepository, Metadata: map[string]string{"cause": cause}}
	switch e := ev.(type) {
	case *event.RepositoryRegistered:
		r.Action, r.Target = audit.RegisteredRepository, e.Repository.Name
		r.Metadata["connection"], r.Metadata["cloneUrl"] = e.Repository.Connection, e.Repository.CloneURL
		r.Metadata["private"] = strconv.FormatBool(e.Repository.Private)
		return r, true
	case *event.RepositoryRemoved:
		r.Action, r.Target = audit.RemovedRepository, before.Name
		r.Metadata["connection"], r.Metadata["reason"] = before.Connection, e.Reason
		return r, true
	case *event.RepositoryChanged:
		r.Action, r.Target = audit.ChangedRepository, e.Repository.Name
		r.Metadata["connection"] = e.Repository.Connection
		if e.Repository.Private != before.Private {
			r.Metadata["private"] = strconv.FormatBool(e.Repository.Private)
		}
		if e.Repository.CloneURL != before.CloneURL {
			r.Metadata["cloneUrl"], r.Metadata["formerCloneUrl"] = e.Repository.CloneURL, before.CloneURL
		}
		return r, e.Repository.Private != before.Private || e.Repository.CloneURL != before.CloneURL
	}
	return r, false
}
