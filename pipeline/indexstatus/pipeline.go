package indexstatus

import (
	"time"

	"github.com/quarrysearch/quarry/pipeline/indexer"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/pipeline/reconcile"
	"github.com/quarrysearch/quarry/pipeline/worker"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/indexing"
)

// Pipeline holds the parts that fetch and index in this process.
type Pipeline struct {
	Mirrors *mirror.Mirrors
	Indexer *indexer.Indexer
	Worker  *worker.Worker
	// Reconciler is nil if this process does not reconcile.
	Reconciler *reconcile.Reconciler
}

// describeWork fills in the current or last work of the pipeline on a repository.
func (p *Pipeline) describeWork(out *indexing.Status) {
	id := out.Repository.ID
	out.Reconciliation = p.lastReconciliation(id)
	out.Selection, out.Empty = p.refSelection(id)
	status, ok := p.Indexer.Status(id)
	if !ok {
		return
	}
	out.LastError = failureOf(status.Code, status.Detail, status.FailedAt)
	if status.Running {
		out.Progress = &indexing.Progress{
			Files: int(status.Files), FilesTotal: int(status.FilesTotal), Bytes: status.Bytes, BytesTotal: status.BytesTotal,
		}
	}
}

// lastReconciliation returns the result of a repository's last reconciliation, or nil if
// this process does not reconcile it.
func (p *Pipeline) lastReconciliation(id code.RepositoryID) *indexing.Reconciliation {
	if p.Reconciler == nil {
		return nil
	}
	status, ok := p.Reconciler.Status(id)
	if !ok {
		return nil
	}
	return &indexing.Reconciliation{
		LookedAt: status.LookedAt, Result: status.Result, NextAt: status.NextAt, Failed: failureOf(status.Code, status.Detail, status.LookedAt),
	}
}

// failureOf converts a failure for the API. It returns nil if there is none.
func failureOf(c failure.Code, detail string, at time.Time) *indexing.Failure {
	if c == "" {
		return nil
	}
	return &indexing.Failure{Code: c, Detail: detail, At: at}
}
