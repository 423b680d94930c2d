package places

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quarrysearch/quarry/projections/internal/accept"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// BrokenError reports that a revision could not be applied, because its base is not the
// current revision, or because its changes are missing in the segment store. The ref
// keeps its old state.
type BrokenError struct {
	Repository code.RepositoryID `json:"repository"`
	Ref        code.Ref          `json:"ref"`
	// Commit is the revision that was not applied.
	Commit code.CommitID `json:"commit"`
	// BaseRef and Want name the base revision; Have is the current one, empty if there is
	// none.
	BaseRef code.Ref      `json:"baseRef"`
	Want    code.CommitID `json:"want"`
	Have    code.CommitID `json:"have,omitempty"`
	// Object is the name of the object with the changes if it is missing in the segment
	// store.
	Object string `json:"object,omitempty"`
	// Position is the event's position in the log.
	Position  event.Position `json:"position"`
	IndexedAt time.Time      `json:"indexedAt"`
}

// Error explains what happened and how to repair it.
func (e *BrokenError) Error() string {
	if e.Object != "" {
		return fmt.Sprintf("%s of repository %s cannot move to %s: the segment store lacks %s, the changes of event %s; append a Push with action %q for the ref to index it again",
			e.Ref, e.Repository, e.Commit, e.Object, e.Position, event.ActionRefresh)
	}
	return fmt.Sprintf("%s of repository %s cannot move to %s: event %s builds on %s at %s, which is at %q; append a Push with action %q for the ref to index it again",
		e.Ref, e.Repository, e.Commit, e.Position, e.BaseRef, e.Want, e.Have, event.ActionRefresh)
}

// applyRevision applies a RevisionIndexed. It adds the segments even if the rest cannot
// be applied, because later events may rely on their documents.
func (c *change) applyRevision(ctx context.Context, rec event.Record, ev *event.RevisionIndexed) error {
	var repo repositoryRow
	var ref, base refRow
	found, err := readRow(c.b, repositoryPrefix(kindRepository, ev.Repository), &repo)
	if err != nil {
		return err
	}
	if _, err := readRow(c.b, refKey(kindRef, ev.Repository, ev.Ref), &ref); err != nil {
		return err
	}
	if _, err := readRow(c.b, refKey(kindRef, ev.Repository, ev.BaseRef), &base); err != nil {
		return err
	}
	var since *event.Position
	if found {
		since = &repo.Since
	}
	verdict := accept.Revision(ev, since, ref.Ref, base.Ref)
	for i := range ev.Segments {
		if _, err := c.ensureSegment(ctx, &ev.Segments[i], []code.RepositoryID{ev.Repository}, verdict == accept.Take); err != nil {
			return err
		}
	}
	switch verdict {
	case accept.Unregistered:
		c.removedAt = earlierTime(ev.IndexedAt, c.part.erased[ev.Repository])
		c.stage.outcomes = append(c.stage.outcomes, string(verdict))
	case accept.Take:
		err = c.moveRef(ctx, rec, ev, &repo, &ref, &base)
	case accept.WrongBase:
		err = c.noteBroken(ev, &base, accept.WrongBase, "")
	default:
		c.stage.outcomes = append(c.stage.outcomes, string(verdict))
	}
	if err != nil {
		return err
	}
	return c.flush()
}

// outcomeChangesAbsent is the label value of an event whose changes are lost.
const outcomeChangesAbsent accept.Verdict = "changes_absent"

// noteBroken records an event that cannot be applied.
func (c *change) noteBroken(ev *event.RevisionIndexed, base *refRow, why accept.Verdict, object string) error {
	broken := &BrokenError{
		Repository: ev.Repository, Ref: ev.Ref, Commit: ev.Commit, BaseRef: ev.BaseRef,
		Want: ev.BaseCommit, Have: base.Commit, Object: object, Position: c.at, IndexedAt: ev.IndexedAt,
	}
	c.stage.outcomes = append(c.stage.outcomes, string(why))
	c.stage.broken = append(c.stage.broken, broken)
	key := refKey(kindBroken, ev.Repository, ev.Ref)
	if _, known, err := c.b.Read(key); err != nil {
		return err
	} else if !known {
		c.stage.brokenRefs++
	}
	return writeRow(c.b, key, broken)
}

// moveRef moves the ref.
func (c *change) moveRef(ctx context.Context, rec event.Record, ev *event.RevisionIndexed, repo *repositoryRow, ref, base *refRow) error {
	t, changes, err := c.prepareTarget(ctx, rec, ev, repo, ref, base)
	if errors.Is(err, errNoChanges) {
		return c.noteBroken(ev, base, outcomeChangesAbsent, ev.ChangesObject)
	}
	if err != nil {
		return err
	}
	if err := c.followDefault(ev, repo, t); err != nil {
		return err
	}
	next := &refRow{Ref: accept.Ref{Cause: ev.Cause}}
	if t != nil {
		if err := firstError(c.editManifest(t, changes), c.saveManifest(t)); err != nil {
			return err
		}
		next = &refRow{
			Ref: accept.Ref{Commit: ev.Commit, Cause: ev.Cause}, Manifest: t.number, CommitTime: ev.CommitTime,
			IndexedAt: ev.IndexedAt, PushedAt: ev.PushedAt, Files: t.files, Skipped: t.skipped,
		}
	}
	if ref.Manifest != 0 && ref.Manifest != next.Manifest {
		if err := c.discardManifest(ev.Repository, ref.Manifest); err != nil {
			return err
		}
	}
	broken := refKey(kindBroken, ev.Repository, ev.Ref)
	if _, known, err := c.b.Read(broken); err != nil {
		return err
	} else if known {
		c.stage.brokenRefs--
	}
	return firstError(
		writeRow(c.b, refKey(kindRef, ev.Repository, ev.Ref), next),
		writeRow(c.b, repositoryPrefix(kindRepository, ev.Repository), repo),
		c.b.Delete(broken),
		c.stage.setRef(c.part, repo, ev.Ref, next, t))
}

// errNoChanges reports that the changes of an event are missing in the segment store.
var errNoChanges = errors.New("the changes are lost")

// prepareTarget returns the manifest to which the event writes and the changes to make,
// or nil if the ref is deleted.
func (c *change) prepareTarget(ctx context.Context, rec event.Record, ev *event.RevisionIndexed, repo *repositoryRow, ref, base *refRow) (*target, []event.Change, error) {
	if ev.Commit == "" {
		c.removedAt = ev.IndexedAt
		return nil, nil, nil
	}
	changes, err := c.p.decoder.Changes(ctx, rec)
	if errors.Is(err, code.ErrNotFound) {
		return nil, nil, errNoChanges
	}
	if err != nil {
		return nil, nil, err
	}
	var t *target
	switch {
	case ev.BaseRef == ev.Ref:
		t, err = c.extendManifest(ev.Repository, ref)
	case ev.BaseRef != "":
		t, err = c.deriveManifest(ev.Repository, repo, base)
	case ref.Manifest != 0:
		if t, err = c.extendManifest(ev.Repository, ref); err == nil {
			changes, err = c.changesTo(t, changes)
		}
	default:
		t, err = c.deriveManifest(ev.Repository, repo, nil)
	}
	return t, changes, err
}

// followDefault moves the places of the repository to the default branch after the event,
// in the state before the event's changes.
func (c *change) followDefault(ev *event.RevisionIndexed, repo *repositoryRow, t *target) error {
	before, err := c.levelsOf(ev.Repository, repo.Repository.DefaultBranch)
	if err != nil {
		return err
	}
	repo.Repository.DefaultBranch = accept.DefaultBranch(repo.Repository.DefaultBranch, ev)
	after := levels(nil)
	if code.BranchRef(repo.Repository.DefaultBranch) != ev.Ref {
		after, err = c.levelsOf(ev.Repository, repo.Repository.DefaultBranch)
	} else if t != nil {
		t.isDefault, after = true, t.before
	}
	if err != nil {
		return err
	}
	return c.replacePlaces(ev.Repository, before, after)
}

// levelsOf returns the levels of a branch before the record, or nil if it is not indexed.
func (c *change) levelsOf(id code.RepositoryID, branch string) (levels, error) {
	if branch == "" {
		return nil, nil
	}
	var ref refRow
	if _, err := readRow(c.b, refKey(kindRef, id, code.BranchRef(branch)), &ref); err != nil {
		return nil, err
	}
	chain, _, err := readLevels(c.b, id, ref.Manifest)
	return chain, err
}
