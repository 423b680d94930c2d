package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// unannounced is the target of HEAD until a default branch has been announced.
const unannounced code.Ref = "refs/heads/quarry-unannounced"

const (
	branchPrefix  = "refs/heads/"
	tagPrefix     = "refs/tags/"
	indexedPrefix = "refs/quarry/indexed/"
	// indexedSuffix keeps the indexed states of refs/heads/a and refs/heads/a/b apart,
	// because git cannot store both as refs. No element of a valid code.Ref is a dash.
	indexedSuffix = "/-"
)

func indexedName(ref code.Ref) string { return indexedPrefix + string(ref) + indexedSuffix }

// Commit contains the fields that are read from a commit.
type Commit struct {
	ID   code.CommitID
	Tree ObjectID
	// Time is the committer's time.
	Time time.Time

	author string // the author line, as it is in the commit
}

// Commit returns the commit that a revision names: a ref or an object name. It fails with
// ErrMissing if there is none.
func (m *Mirror) Commit(ctx context.Context, rev code.CommitID) (Commit, error) {
	if err := validateCommit(rev); err != nil {
		return Commit{}, m.wrapError("read", err)
	}
	return m.commit(ctx, string(rev))
}

func (m *Mirror) commit(ctx context.Context, name string) (Commit, error) {
	r, err := m.Reader(ctx)
	if err != nil {
		return Commit{}, err
	}
	defer r.Close()
	return r.commit(ctx, name)
}

// FetchedCommit returns the commit of a branch or tag, as of the last fetch. It fails
// with ErrMissing if there is none.
func (m *Mirror) FetchedCommit(ctx context.Context, ref code.Ref) (code.CommitID, error) {
	if err := ref.Validate(); err != nil {
		return "", m.wrapError("read", err)
	}
	c, err := m.commit(ctx, string(ref))
	return c.ID, err
}

// IndexedCommit returns the commit that SetIndexed stored for ref; empty if there is none
// or the mirror no longer contains it.
func (m *Mirror) IndexedCommit(ctx context.Context, ref code.Ref) (code.CommitID, error) {
	if !m.hasRepository() {
		return "", nil
	}
	if err := ref.Validate(); err != nil {
		return "", m.wrapError("read", err)
	}
	c, err := m.commit(ctx, indexedName(ref))
	if errors.Is(err, ErrMissing) {
		return "", nil
	}
	return c.ID, err
}

// IndexedRevisions returns all refs and commits that SetIndexed stored, ordered by name.
// It includes commits that the repository no longer has, unlike IndexedCommit, because
// their refs are indexed anyway.
func (m *Mirror) IndexedRevisions(ctx context.Context) ([]code.Revision, error) {
	if !m.hasRepository() {
		return nil, nil
	}
	revisions, err := m.readIndexed()
	if err == nil {
		return revisions, nil
	} else if errors.Is(err, errDamaged) {
		return nil, m.wrapError("list", err)
	}
	out, err := m.ms.git.readOutput(ctx, command{gitDir: m.gitDir(), limit: maxRefsOutput, allRefs: true,
		args: []string{"for-each-ref", "--format=%(objectname) %(refname)", indexedPrefix}})
	if err != nil {
		return nil, m.wrapError("list", err)
	}
	for line := range bytes.Lines(out) {
		name, ref, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		ref, isIndexed := strings.CutSuffix(strings.TrimPrefix(ref, indexedPrefix), indexedSuffix)
		if ok && isIndexed {
			revisions = append(revisions, code.Revision{Ref: code.Ref(ref), Commit: code.CommitID(name)})
		}
	}
	return revisions, nil
}

// SetIndexed records that the log contains a RevisionIndexed of ref at commit; an empty
// commit removes the ref. It also records head as the announced default branch, unless
// head is empty. Call it only after the append was acknowledged. It fails with ErrMissing
// if the mirror or the commit does not exist.
func (m *Mirror) SetIndexed(ctx context.Context, ref code.Ref, commit code.CommitID, head code.Ref) error {
	if err := ref.Validate(); err != nil {
		return m.wrapError("update", err)
	}
	if !m.hasRepository() {
		return m.wrapError("update", errNoMirror)
	}
	if err := m.setIndexed(ctx, indexedName(ref), commit); err != nil {
		return err
	}
	return m.setAnnouncedDefault(ctx, head)
}

// RemoveIndexed records in one transaction that refs are removed in the log, and records
// head as the announced default branch, as SetIndexed does.
func (m *Mirror) RemoveIndexed(ctx context.Context, refs []code.Ref, head code.Ref) error {
	if !m.hasRepository() {
		return m.wrapError("update", errNoMirror)
	}
	var u refUpdate
	for _, ref := range refs {
		err := ref.Validate()
		if err == nil {
			err = u.setRef(indexedName(ref), "")
		}
		if err != nil {
			return m.wrapError("update", err)
		}
	}
	if err := m.updateRefs(ctx, u); err != nil {
		return err
	}
	return m.setAnnouncedDefault(ctx, head)
}

func (m *Mirror) setAnnouncedDefault(ctx context.Context, head code.Ref) error {
	if head == "" || head == m.AnnouncedDefault() {
		return nil
	}
	if err := head.Validate(); err != nil {
		return m.wrapError("update", err)
	}
	_, err := m.ms.git.readOutput(ctx, command{gitDir: m.gitDir(), args: []string{"symbolic-ref", "HEAD", string(head)}})
	if err != nil {
		return m.wrapError("update", err)
	}
	return nil
}

func (m *Mirror) setIndexed(ctx context.Context, name string, commit code.CommitID) error {
	if commit == "" {
		var u refUpdate
		if err := u.setRef(name, ""); err != nil {
			return m.wrapError("update", err)
		}
		return m.updateRefs(ctx, u)
	}
	if _, err := m.Commit(ctx, commit); err != nil {
		return m.wrapError("update", err)
	}
	return m.setRef(ctx, name, commit)
}

// completeName is a file inside the bare repository, so that it is lost with it.
const completeName = "indexed-complete"

// IndexedComplete reports whether the indexed state contains every ref of the repository
// in the log, as stored by SetIndexedComplete. A recreated mirror is not complete.
func (m *Mirror) IndexedComplete() bool {
	_, err := os.Stat(filepath.Join(m.gitDir(), completeName))
	return err == nil
}

// SetIndexedComplete stores whether the indexed state contains every ref of the
// repository in the log.
func (m *Mirror) SetIndexedComplete(complete bool) error {
	path := filepath.Join(m.gitDir(), completeName)
	var err error
	if complete {
		err = writeFile(path, nil)
	} else if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return m.wrapError("update", err)
	}
	return nil
}

// AnnouncedDefault returns the default branch that SetIndexed last stored, or "".
func (m *Mirror) AnnouncedDefault() code.Ref {
	b, err := os.ReadFile(filepath.Join(m.gitDir(), "HEAD"))
	if err != nil {
		return ""
	}
	ref, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "ref: ")
	if !ok || code.Ref(ref) == unannounced {
		return ""
	}
	return code.Ref(ref)
}

// refUpdate is the input of git update-ref --stdin: one transaction.
type refUpdate struct{ bytes.Buffer }

func (u *refUpdate) setRef(name string, commit code.CommitID) error {
	if commit == "" {
		fmt.Fprintf(u, "delete %s\n", name)
		return nil
	}
	if err := validateCommit(commit); err != nil {
		return err
	}
	fmt.Fprintf(u, "update %s %s\n", name, commit)
	return nil
}

func (m *Mirror) updateRefs(ctx context.Context, u refUpdate) error {
	if u.Len() == 0 {
		return nil
	}
	_, err := m.ms.git.readOutput(ctx, command{gitDir: m.gitDir(), args: []string{"update-ref", "--no-deref", "--stdin"}, stdin: u.Bytes()})
	if err != nil {
		return m.wrapError("update", err)
	}
	return nil
}

// fetchedRefs returns the branches and tags of the mirror and their commits, as of the
// last fetch.
func (m *Mirror) fetchedRefs(ctx context.Context) (map[code.Ref]code.CommitID, error) {
	out, err := m.ms.git.readOutput(ctx, command{gitDir: m.gitDir(), limit: maxRefsOutput, allRefs: true, args: []string{"for-each-ref", "--format=" + refFormat, branchPrefix, tagPrefix}})
	if err != nil {
		return nil, m.wrapError("list", err)
	}
	refs, nested, err := parseRefs(out)
	if err != nil {
		return nil, m.wrapError("list", err)
	}
	for _, ref := range nested {
		c, err := m.commit(ctx, string(ref))
		if errors.Is(err, ErrMissing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		refs[ref] = c.ID
	}
	return refs, nil
}

// refFormat includes the object that an annotated tag points to.
const refFormat = "%(objectname) %(objecttype) %(refname) %(*objectname) %(*objecttype)"

// parseRefs parses lines of refFormat. It omits a ref that is not a commit, or whose name
// cannot be passed to git, because it cannot be indexed. It returns tags of tags as
// nested, because some versions of git peel only one layer.
func parseRefs(out []byte) (refs map[code.Ref]code.CommitID, nested []code.Ref, err error) {
	refs = make(map[code.Ref]code.CommitID)
	for line := range bytes.Lines(out) {
		fields := strings.Split(strings.TrimSuffix(string(line), "\n"), " ")
		if len(fields) != 5 {
			return nil, nil, fmt.Errorf("%w: unexpected line %.200q in a list of refs", ErrGit, line)
		}
		name, kind, ref := fields[0], fields[1], code.Ref(fields[2])
		if kind == "tag" && ref.IsTag() {
			name, kind = fields[3], fields[4]
		}
		if kind == "" {
			continue // a tag with a damaged object
		}
		id, err := code.ParseCommitID(name)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrGit, err)
		}
		switch {
		case ref.Validate() != nil:
		case kind == "commit":
			refs[ref] = id
		case kind == "tag" && ref.IsTag():
			nested = append(nested, ref)
		}
	}
	return refs, nested, checkRefs(refs)
}

func validateCommit(id code.CommitID) error {
	parsed, err := code.ParseCommitID(string(id))
	if err == nil && parsed == "" {
		err = errors.New("no commit")
	}
	return err
}
