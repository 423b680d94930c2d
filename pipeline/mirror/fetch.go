package mirror

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/failure"
	"github.com/quarrysearch/quarry/schemas/tracing"
)

// Fetch updates the mirror to the state of the repository: its default branch and the
// branches and tags that r.Branches and r.Tags select; it removes all other refs. It
// creates the mirror if necessary. Refs beyond Options.MaxRefs are fetched too, since
// only their commits show which are the newest, but they are not part of the State.
func (m *Mirror) Fetch(ctx context.Context, r code.Repository) (State, error) {
	start := time.Now()
	ctx, span := tracing.Start(ctx, "fetch")
	s, err := m.fetchRepository(ctx, r)
	span.End(err)
	m.ms.metrics.observeFetch(fetchFull, start, err)
	if err != nil {
		return State{}, m.wrapError("fetch", err)
	}
	return s, nil
}

func (m *Mirror) fetchRepository(ctx context.Context, r code.Repository) (State, error) {
	src, err := m.resolveSource(ctx, r)
	if err != nil {
		return State{}, err
	}
	if err := m.lockMirror(ctx); err != nil {
		return State{}, err
	}
	defer m.unlockMirror()
	if src.isLocal() {
		return m.copyRepository(ctx, r, src)
	}
	listed, err := m.listRemote(ctx, src, maxRefsOutput, listedPatterns(r)...)
	if err != nil {
		return State{}, err
	}
	s, err := listed.selectState(r)
	if err != nil {
		return State{}, err
	}
	if err := m.ensureBare(ctx, listed.format); err != nil {
		return State{}, err
	}
	if err := m.endCopy(); err != nil {
		return State{}, err
	}
	if s, err = m.fetchSelected(ctx, src, s); err != nil {
		return State{}, err
	}
	return m.limitRefs(ctx, s)
}

// listedPatterns returns the ref patterns to request from a host: tags only if some are
// selected.
func listedPatterns(r code.Repository) []string {
	patterns := []string{branchPrefix + "*"}
	if len(r.Tags) > 0 {
		patterns = append(patterns, tagPrefix+"*")
	}
	return patterns
}

// listRemote requests HEAD and the refs that match patterns from the host: names, not
// objects.
func (m *Mirror) listRemote(ctx context.Context, src source, limit int64, patterns ...string) (listing, error) {
	out, err := m.ms.git.readOutput(ctx, command{env: m.ms.remoteEnvironment(src), secrets: src.access.secrets(), limit: limit,
		args: append([]string{"ls-remote", "--quiet", "--symref", "--end-of-options", src.url, "HEAD"}, patterns...)})
	if err != nil && strings.Contains(err.Error(), redirected) {
		return listing{}, m.explainRedirect(ctx, src, err)
	} else if err != nil {
		return listing{}, err
	}
	l, err := parseListing(out)
	if err == nil && len(l.refs) == 0 && l.headCommit == "" && (src.scheme == "https" || src.scheme == "http") {
		err = m.checkSpeaksGit(ctx, src)
	}
	return l, err
}

// explainRedirect adds the new address to the error of a host that redirects. It asks the
// host again, because git's error does not contain the address.
func (m *Mirror) explainRedirect(ctx context.Context, src source, err error) error {
	trace, _ := m.traceListing(ctx, src, "GIT_TRACE_CURL=1", "GIT_TRACE_CURL_NO_DATA=1") // it fails, as before
	location := ""
	for line := range strings.Lines(trace) {
		if i := strings.Index(strings.ToLower(line), locationTrace); i >= 0 {
			location = strings.TrimSpace(line[i+len(locationTrace):])
		}
	}
	base, err1 := url.Parse(src.url)
	target, err2 := url.Parse(location)
	if location == "" || err1 != nil || err2 != nil {
		return fmt.Errorf("the host redirects, and redirects are not followed: %w", err)
	}
	// Without credentials and the query, which may be a secret and is not part of a clone
	// URL.
	target = base.ResolveReference(target)
	target.User, target.RawQuery, target.Fragment = nil, "", ""
	address, ofRepository := strings.CutSuffix(target.String(), "/info/refs")
	err = fmt.Errorf("the host redirects to %s, and redirects are not followed: correct the clone URL: %w", failure.Quote(address, maxRedirectBytes), err)
	if ofRepository && target.Scheme == base.Scheme && strings.EqualFold(target.Host, base.Host) && target.Path != base.Path+"/info/refs" {
		return &MovedError{CloneURL: address, err: err}
	}
	return err
}

// traceListing lists HEAD of the host and returns the end of git's trace, also of a run
// that fails. variables select what git traces.
func (m *Mirror) traceListing(ctx context.Context, src source, variables ...string) (trace string, err error) {
	_, err = m.ms.git.readOutput(ctx, command{env: append(m.ms.remoteEnvironment(src), variables...), secrets: src.access.secrets(), trace: &trace,
		args: []string{"ls-remote", "--quiet", "--end-of-options", src.url, "HEAD"}})
	return trace, err
}

// maxRedirectBytes bounds the address of a redirect in an error.
const maxRedirectBytes = 300

// locationTrace starts the address in git's trace of the headers of a redirect.
const locationTrace = "<= recv header: location:"

// packetTrace starts a line of git's trace of what a server sends in git's protocol.
const packetTrace = "packet: "

// checkSpeaksGit requires a server without refs to speak git's protocol. Git takes any
// answer with status 200 and no line feed, such as an empty one or a one-line sign-in
// page, for a repository without refs on a plain file server. If we believed it,
// everything indexed would be removed.
func (m *Mirror) checkSpeaksGit(ctx context.Context, src source) error {
	trace, err := m.traceListing(ctx, src, "GIT_TRACE_PACKET=1")
	if err == nil && !strings.Contains(trace, packetTrace) {
		err = fmt.Errorf("%w: it answers, but not as a git server does: check the URL, and whether a proxy or a sign-in page answers there", ErrUnreachable)
	}
	return err
}

// peeledSuffix follows the name of an annotated tag in the line with the object
// that the tag points to.
const peeledSuffix = "^{}"

// parseListing parses the output of ls-remote --symref.
func parseListing(out []byte) (listing, error) {
	l := newListing("sha1")
	for line := range bytes.Lines(out) {
		value, name, ok := strings.Cut(strings.TrimSuffix(string(line), "\n"), "\t")
		if !ok {
			return l, fmt.Errorf("%w: unexpected line %.200q of ls-remote", ErrGit, line)
		}
		if target, ok := strings.CutPrefix(value, "ref: "); ok {
			if name == "HEAD" {
				l.head = code.Ref(target)
			}
			continue
		}
		id, err := code.ParseCommitID(value)
		if err != nil {
			return l, fmt.Errorf("%w: %w", ErrGit, err)
		}
		if len(id) == 64 {
			l.format = "sha256"
		}
		switch ref := code.Ref(strings.TrimSuffix(name, peeledSuffix)); {
		case name == "HEAD":
			l.headCommit = id
		case ref.IsBranch() || ref.IsTag():
			l.addRef(ref, id)
		}
	}
	return l, checkRefs(l.refs)
}

// checkRefs checks the number of refs against maxRefs.
func checkRefs(refs map[code.Ref]code.CommitID) error {
	if len(refs) > maxRefs {
		return fmt.Errorf("%d branches and tags, at most %d: %w", len(refs), maxRefs, ErrTooLarge)
	}
	return nil
}

// fetchSelected fetches the selected refs that differ from the mirror's, removes all
// others, and returns the state with the fetched commits.
func (m *Mirror) fetchSelected(ctx context.Context, src source, s State) (State, error) {
	have, err := m.fetchedRefs(ctx)
	if err != nil {
		return s, err
	}
	var refs []code.Ref
	for _, r := range s.Revisions {
		if have[r.Ref] != r.Commit {
			refs = append(refs, r.Ref)
		}
		delete(have, r.Ref)
	}
	// Remove refs first, so that branch a makes room for a/b.
	if err := m.addTips(slices.Collect(maps.Values(have))); err != nil {
		return s, err
	}
	var u refUpdate
	for ref := range have {
		if err := u.setRef(string(ref), ""); err != nil {
			return s, err
		}
	}
	if err := m.updateRefs(ctx, u); err != nil || len(refs) == 0 {
		return s, err
	}
	if err := m.runFetch(ctx, src, refs); err != nil {
		return s, err
	}
	return m.rereadRefs(ctx, s)
}

// rereadRefs returns the state with the commits that were actually fetched, because a ref
// may have moved since it was listed. It omits a tag of something other than a commit.
func (m *Mirror) rereadRefs(ctx context.Context, s State) (State, error) {
	have, err := m.fetchedRefs(ctx)
	if err != nil {
		return s, err
	}
	revisions := s.Revisions[:0]
	for _, r := range s.Revisions {
		id, ok := have[r.Ref]
		switch {
		case ok:
			revisions = append(revisions, code.Revision{Ref: r.Ref, Commit: id})
		case r.Ref.IsTag():
			s.Selection.dropRef(r.Ref)
		default:
			return s, fmt.Errorf("%s was fetched, but is no commit: %w", r.Ref, ErrGit)
		}
	}
	s.Revisions = revisions
	return s, nil
}

// runFetch runs one git fetch, without listing, tags or maintenance afterwards. Forced
// updates are accepted without being detected, which would require a walk through the
// history. Of a shallow repository, the mirror takes the history that there is, as git
// clone does.
func (m *Mirror) runFetch(ctx context.Context, src source, refs []code.Ref) error {
	if err := m.noteTips(ctx, refs); err != nil {
		return err
	}
	var stdin bytes.Buffer
	for _, ref := range refs {
		fmt.Fprintf(&stdin, "+%s:%s\n", ref, ref)
	}
	fetching, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	before := m.packBytes()
	var settings []string
	if _, packs := m.countObjects(); packs == 0 {
		// A first fetch becomes one pack, also after one that a crash has interrupted. As loose
		// objects, a small repository would take two inodes for nearly each of its objects.
		settings = []string{"fetch.unpackLimit", "1"}
	}
	watched := m.watchSize(fetching, cancel)
	_, err := m.ms.git.readOutput(fetching, command{gitDir: m.gitDir(), env: m.ms.remoteEnvironment(src, settings...), secrets: src.access.secrets(), stdin: stdin.Bytes(), timeout: m.ms.o.FetchTimeout,
		args: []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules",
			"--no-show-forced-updates", "--update-shallow", "--stdin", "--end-of-options", src.url}})
	cancel(nil)
	<-watched
	m.ms.metrics.fetchBytes.Add(float64(max(0, m.packBytes()-before)))
	m.ms.noteRepack(m)
	if err != nil && strings.Contains(err.Error(), redirected) {
		return m.explainRedirect(ctx, src, err)
	}
	return err
}

// sizeInterval is the interval at which a running fetch is checked against
// MaxMirrorBytes.
const sizeInterval = 2 * time.Second

// watchSize cancels ctx when the mirror exceeds its bound. The returned channel is closed
// when the watch has ended, which happens after ctx ends.
func (m *Mirror) watchSize(ctx context.Context, cancel context.CancelCauseFunc) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(sizeInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if n := m.packBytes(); n > m.ms.o.MaxMirrorBytes {
				cancel(fmt.Errorf("mirror of %d bytes, at most %d: %w", n, m.ms.o.MaxMirrorBytes, ErrTooLarge))
				return
			}
		}
	}()
	return done
}

// packBytes returns the total size of the packs, including those being received. Loose
// objects are few and small in comparison.
func (m *Mirror) packBytes() int64 {
	entries, err := os.ReadDir(filepath.Join(m.gitDir(), "objects", "pack"))
	if err != nil {
		return 0
	}
	var n int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}
