package indexer

import (
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// The process log shows each push under the delivery ID of its code host: a line for each
// fetch, for each revision, and for each push that led to no revision. A job of more than a minute
// also logs its progress, under its repository.

// logFetched logs that a repository was fetched because of c.
func (x *Indexer) logFetched(r code.Repository, c cause, more ...any) {
	x.o.Logger.Info("fetched", append([]any{
		"delivery_id", c.delivery, "repository", r.Name, "repository_id", r.ID, "position", c.position.String(),
	}, more...)...)
}

// logProgress logs how far a long job is.
func (x *Indexer) logProgress(repo code.RepositoryID, j *job) {
	x.o.Logger.Info("reading files", "repository", nameOf(x.o.Mirrors.Mirror(repo)), "repository_id", repo,
		"files", j.files.Load(), "files_total", j.filesTotal.Load(), "bytes", j.bytes.Load(), "bytes_total", j.bytesTotal.Load())
}

// logHandled logs the outcome of pushes that no "revision indexed" line names.
func (x *Indexer) logHandled(g *pushGroup) {
	name := nameOf(x.o.Mirrors.Mirror(g.repo))
	for _, of := range g.refs {
		last := len(of.pushes) - 1
		for i, p := range of.pushes {
			outcome := of.metricLabel()
			switch {
			case outcome == pushMoved && i == last:
				continue // "revision indexed" names it
			case of.announced && i < last:
				outcome = pushCoalesced
			}
			x.o.Logger.Info("push handled", "delivery_id", p.DeliveryID, "repository", name, "repository_id", g.repo,
				"ref", string(p.Ref), "position", p.at.String(), "outcome", outcome, "last_position", of.pushes[last].at.String())
		}
	}
}

// nameOf returns the name of the repository of a mirror, or an empty string.
func nameOf(m *mirror.Mirror) string {
	r, err := m.Repository()
	if err != nil {
		return ""
	}
	return r.Name
}
