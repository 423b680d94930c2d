package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/projections/places"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/verification"
)

// These are the bounds of a verification.
const (
	// maxUnheld bounds the documents without a segment that are listed individually.
	maxUnheld = 100_000
	// maxRepairs bounds the number of refs that one verification re-indexes.
	maxRepairs = 10_000
	// progressEvery is the time between two frames of progress.
	progressEvery = 500 * time.Millisecond
)

// View is a consistent snapshot as queries see it; places.View implements it.
type View interface {
	Generation() uint64
	Repository(id code.RepositoryID) *places.Repository
	Files(ctx context.Context, id code.RepositoryID, ref code.Ref, after string, f func(places.Place) bool) error
	UnheldDocuments(limit int) ([]code.DocumentKey, error)
	Broken(limit int) ([]*places.BrokenError, error)
	Release()
}

// Mirror is the git mirror of a repository, which may be in another process. *mirror.Mirror
// implements it.
type Mirror interface {
	Exists() bool
	AnnouncedDefault() code.Ref
	IndexedRevisions(ctx context.Context) ([]code.Revision, error)
	List(ctx context.Context, r code.Repository) (mirror.State, error)
	ListTree(ctx context.Context, commit code.CommitID, fn func(path string, e mirror.Entry) error) error
	ReadSizes(ctx context.Context, ids []mirror.ObjectID, max int64, fn func(i int, bytes int64, err error) error) error
	ResetDamaged(ctx context.Context, cause error) (bool, error)
}

// ErrElsewhere reports that a mirror of another process cannot be read: what needs it is not
// compared.
var ErrElsewhere = errors.New("the process with the mirror does not answer")

// Options contain both sides of the comparison. All are required.
type Options struct {
	// Repositories returns the registered repositories.
	Repositories func() []code.Repository
	// Acquire returns the view that queries see. Fence waits until queries see everything
	// that the log held when it was called.
	Acquire func() View
	Fence   func(ctx context.Context) error
	// Mirror opens the mirror of a repository. The error wraps ErrElsewhere.
	Mirror func(ctx context.Context, id code.RepositoryID) (Mirror, error)
	// Holds reports whether Mirror has the mirror of a repository, which a worker of another
	// process may have instead. RequestMirror has such a mirror fetched again.
	Holds         func(ctx context.Context, id code.RepositoryID) bool
	RequestMirror func(ctx context.Context, id code.RepositoryID) bool
	// Unstored rewrites objects that the segment store lacks from the projections, and
	// returns what a rebuild would still lose: documents and refs.
	Unstored func(ctx context.Context) (map[code.DocumentKey]bool, map[code.RepositoryID]map[code.Ref]bool, error)
	// Repair appends pushes and waits until they have taken effect.
	Repair func(ctx context.Context, pushes []*event.Push) error
	// Now returns the time for progress reports.
	Now func() time.Time
}

// A Verifier compares the index with the repositories.
type Verifier struct {
	o       Options
	running sync.Mutex
}

// New returns a Verifier.
func New(o Options) *Verifier { return &Verifier{o: o} }

// verifyRun is one verification.
type verifyRun struct {
	*Verifier
	request verification.Request
	emit    func(*verification.Finding) error
	counts  verification.Counts
	// differences counts the differences of the first round, by repository, and unchecked
	// what could not be compared.
	differences, unchecked map[code.RepositoryID]int
	// compared counts the refs and files of repositories in unchecked: a repair may fetch
	// a lost mirror, so that the second round compares more.
	compared map[code.RepositoryID]verification.Counts
	// afterRepair is set in the round after a repair.
	afterRepair bool
	lastFrame   time.Time
	unheld      map[code.DocumentKey]bool
	// unheldAt is the generation of the view from which unheld was read.
	unheldAt uint64
	broken   map[refKey]*places.BrokenError
	// unstored and lostChanges contain what a rebuild would lose.
	unstored    map[code.DocumentKey]bool
	lostChanges map[code.RepositoryID]map[code.Ref]bool
	repairs     []*event.Push
}

type refKey struct {
	repository code.RepositoryID
	ref        code.Ref
}

// Verify implements api.Verifier. It fails with verification.ErrBusy while another one runs.
func (v *Verifier) Verify(ctx context.Context, r verification.Request, emit func(*verification.Finding) error) error {
	if !v.running.TryLock() {
		return verification.ErrBusy
	}
	defer v.running.Unlock()
	of := v.selectRepositories(r.Repositories)
	x := &verifyRun{Verifier: v, request: r, emit: emit, differences: map[code.RepositoryID]int{}, unchecked: map[code.RepositoryID]int{}, compared: map[code.RepositoryID]verification.Counts{}}
	if err := x.compareAll(ctx, of); err != nil {
		return err
	}
	if r.Repair && len(x.repairs) > 0 {
		if err := x.repairDifferences(ctx, of); err != nil {
			return err
		}
	}
	return emit(&verification.Finding{Type: verification.Summary, Counts: &x.counts})
}

// selectRepositories returns the repositories with the given IDs, or all if ids is empty.
func (v *Verifier) selectRepositories(ids []code.RepositoryID) []code.Repository {
	all := v.o.Repositories()
	if len(ids) == 0 {
		return all
	}
	wanted := map[code.RepositoryID]bool{}
	for _, id := range ids {
		wanted[id] = true
	}
	var chosen []code.Repository
	for _, r := range all {
		if wanted[r.ID] {
			chosen = append(chosen, r)
		}
	}
	return chosen
}

// compareAll compares repositories, one after the other.
func (x *verifyRun) compareAll(ctx context.Context, of []code.Repository) error {
	x.counts.Total = len(of)
	var err error
	if x.unstored, x.lostChanges, err = x.o.Unstored(ctx); err != nil {
		return err
	}
	if err := x.reportProgress(""); err != nil {
		return err
	}
	for _, r := range of {
		before := x.counts
		if err := x.compareRepository(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
		if x.unchecked[r.ID] > 0 {
			x.compared[r.ID] = verification.Counts{Refs: x.counts.Refs - before.Refs, Files: x.counts.Files - before.Files}
		}
		x.counts.Repositories++
		if err := x.reportProgress(r.Name); err != nil {
			return err
		}
	}
	return nil
}

// compareRepository compares one repository.
func (x *verifyRun) compareRepository(ctx context.Context, r code.Repository) error {
	m, err := x.o.Mirror(ctx, r.ID)
	if err != nil {
		if !errors.Is(err, ErrElsewhere) {
			return err
		}
		return cmp.Or(x.reportUnchecked(ctx, r, "", err.Error()), x.compareWithoutMirror(ctx, r))
	}
	if !m.Exists() {
		if err := x.reportUnchecked(ctx, r, "", "this process has no mirror of it: a repair, a request for its history or its next push fetches one"); err != nil {
			return err
		}
		x.noteRepair(r, difference{})
		return x.compareWithoutMirror(ctx, r)
	}
	view, found, err := x.compareUntilStable(ctx, r, m)
	if errors.Is(err, errMoving) || errors.Is(err, errRemote) {
		return x.reportUnchecked(ctx, r, "", err.Error())
	}
	if err != nil {
		return x.resetDamaged(ctx, r, "", m, err)
	}
	defer view.Release()
	if err := x.reportDifferences(r, found); err != nil {
		return err
	}
	indexed := view.Repository(r.ID)
	if indexed == nil {
		return nil
	}
	if err := x.readUnheld(view); err != nil {
		return err
	}
	if err := x.reportDifferences(r, x.brokenElsewhere(indexed)); err != nil {
		return err
	}
	for _, ref := range indexed.Refs {
		found, err := x.compareRef(ctx, view, m, r, ref)
		if err != nil {
			if err := x.resetDamaged(ctx, r, ref.Ref, m, explainMissing(ctx, m, ref, err)); err != nil {
				return fmt.Errorf("%s: %w", ref.Ref, err)
			}
			continue
		}
		if err := x.reportDifferences(r, found); err != nil {
			return fmt.Errorf("%s: %w", ref.Ref, err)
		}
		x.counts.Refs++
	}
	return nil
}

// errNoCommit means that the mirror has no record of a commit. The commit may be in the
// mirror of another process's worker.
var errNoCommit = errors.New("the mirror of this process does not have commit")

// explainMissing replaces mirror.ErrMissing with errNoCommit if the mirror never recorded
// the commit of a ref.
func explainMissing(ctx context.Context, m Mirror, ref *places.Ref, err error) error {
	if !errors.Is(err, mirror.ErrMissing) || errors.Is(err, errMirror) {
		return err
	}
	known, listErr := m.IndexedRevisions(ctx)
	if listErr != nil || slices.Contains(known, code.Revision{Ref: ref.Ref, Commit: ref.Commit}) {
		return errors.Join(err, listErr)
	}
	return fmt.Errorf("%w %s", errNoCommit, ref.Commit)
}

// resetDamaged reports a ref, or a repository, that cannot be compared. It removes a
// damaged mirror and has it fetched again.
func (x *verifyRun) resetDamaged(ctx context.Context, r code.Repository, ref code.Ref, m Mirror, err error) error {
	if errors.Is(err, errNoCommit) || errors.Is(err, ErrElsewhere) {
		return x.reportUnchecked(ctx, r, ref, err.Error())
	}
	reset, resetErr := m.ResetDamaged(ctx, err)
	switch {
	case resetErr != nil:
		return errors.Join(err, resetErr)
	case reset:
		x.noteRepair(r, difference{ref: ref})
		why := "the mirror of this process was damaged, and is removed: a repair, a request for its history or its next push fetches it again"
		if !x.request.Repair && x.o.RequestMirror(ctx, r.ID) {
			why = "the mirror of this process was damaged, and is removed: it is being fetched again"
		}
		return x.reportUnchecked(ctx, r, ref, why)
	case errors.Is(err, mirror.ErrMissing):
		return x.reportUnchecked(ctx, r, ref, err.Error())
	}
	return err
}

// readUnheld reads the documents without a segment, and the events that could not be
// applied, once for each view.
func (x *verifyRun) readUnheld(view View) error {
	if x.unheld != nil && x.unheldAt == view.Generation() {
		return nil
	}
	keys, err := view.UnheldDocuments(maxUnheld)
	if err != nil {
		return err
	}
	broken, err := view.Broken(maxRepairs)
	if err != nil {
		return err
	}
	x.unheld, x.unheldAt, x.broken = map[code.DocumentKey]bool{}, view.Generation(), map[refKey]*places.BrokenError{}
	for _, k := range keys {
		x.unheld[k] = true
	}
	for _, b := range broken {
		x.broken[refKey{b.Repository, b.Ref}] = b
	}
	return nil
}

// reportDifferences emits the differences of one ref, and records their repair.
func (x *verifyRun) reportDifferences(r code.Repository, found []difference) error {
	for _, d := range found {
		x.counts.Differences++
		if !x.afterRepair {
			x.differences[r.ID]++
		}
		frame := d.newFrame(r)
		frame.AfterRepair = x.afterRepair
		if err := x.emit(frame); err != nil {
			return err
		}
		x.noteRepair(r, d)
	}
	return nil
}

// reportUnchecked emits what could not be compared. What another process can compare is not
// counted.
func (x *verifyRun) reportUnchecked(ctx context.Context, r code.Repository, ref code.Ref, why string) error {
	if !x.o.Holds(ctx, r.ID) {
		why = "another worker handles its pushes; verify it there"
	} else if x.counts.Unchecked++; !x.afterRepair {
		x.unchecked[r.ID]++
	}
	return x.emit(&verification.Finding{Type: verification.Unchecked, Repository: r.ID, Name: r.Name, Ref: ref, Message: why})
}

// reportProgress emits the progress, at most once per progressEvery.
func (x *verifyRun) reportProgress(name string) error {
	now := x.o.Now()
	if now.Sub(x.lastFrame) < progressEvery {
		return nil
	}
	x.lastFrame = now
	counts := x.counts
	return x.emit(&verification.Finding{Type: verification.Progress, Name: name, Counts: &counts})
}
