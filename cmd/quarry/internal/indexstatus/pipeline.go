package indexstatus

import (
	"time"

	"github.com/quarrysearch/quarry/pipeline/indexer"
	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/pipeline/reconcile"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/indexing"
)

// Pipeline is what fetches and indexes in this process.
type Pipeline struct {
	Mirrors *mirror.Mirrors
	Indexer *indexer.Indexer
	// Reconciler is nil if this process does not look for lost pushes.
	Reconciler *reconcile.Reconciler
}

// describeWork fills in what the pipeline does, or did last, for a repository.
func (p *Pipeline) describeWork(out *indexing.Status) {
	id := out.Repository.ID
	out.Reconciliation, out.Selection = p.lastReconciliation(id), p.refSelection(id)
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

// lastReconciliation says what the last look at a repository for lost pushes found; nil if
// this process does not look at it.
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

// failureOf returns what the API shows of a failure, nil for none.
func failureOf(c failure.Code, detail string, at time.Time) *indexing.Failure {
	if c == "" {
		return nil
	}
	return &indexing.Failure{Code: c, Detail: detail, At: at}
}
