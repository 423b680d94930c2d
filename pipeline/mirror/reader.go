package mirror

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Bounds of a Reader.
const (
	// requestWindow is the number of objects in one batch of requests. Two batches, at
	// most 74 bytes for each request, fit the 64 KiB of a pipe, so that a write never
	// waits for git while git waits for us.
	requestWindow = 400
	// maxRestarts bounds how often git may crash on unreadable objects in one call.
	maxRestarts = 100
	// bulkBytes is the number of bytes after which a Reader is not reused: by then git
	// holds caches that a few small reads do not justify.
	bulkBytes = 64 << 20
	// maxCommitBytes bounds a commit object.
	maxCommitBytes = 1 << 20
)

// Reader reads objects of one mirror through a long-lived git cat-file. It must be used
// by one goroutine at a time.
type Reader struct {
	m *Mirror
	// contents and info are the same process, except with a git before 2.36.
	contents, info *catFile
	buf            []byte
	bytesRead      int64
}

// Reader returns a reader: an idle one of this mirror, or a new process. The caller must
// close it.
func (m *Mirror) Reader(ctx context.Context) (*Reader, error) {
	if !m.hasRepository() {
		return nil, fmt.Errorf("read repository %s: %w", m.id, errNoMirror)
	}
	if r := m.ms.takeIdle(m); r != nil {
		return r, nil
	}
	if err := m.adoptBorrowed(ctx); err != nil {
		return nil, fmt.Errorf("read repository %s: %w", m.id, err)
	}
	r := &Reader{m: m}
	if err := r.start(); err != nil {
		return nil, fmt.Errorf("read repository %s: %w", m.id, err)
	}
	m.ms.metrics.readers.Inc()
	return r, nil
}

func (r *Reader) start() (err error) {
	g := r.m.ms.git
	if g.hasVersion(versionBatchCommand) {
		r.contents, err = startCatFile(g, r.m.gitDir(), "--batch-command", "contents ", "info ", "flush\n")
		r.info = r.contents
		return err
	}
	if r.contents, err = startCatFile(g, r.m.gitDir(), "--batch", "", "", ""); err != nil {
		return err
	}
	if r.info, err = startCatFile(g, r.m.gitDir(), "--batch-check", "", "", ""); err != nil {
		r.contents.stopProcess()
	}
	return err
}

// Close returns the reader to the pool. Its buffer is no longer valid.
func (r *Reader) Close() { r.m.ms.giveBack(r) }

func (r *Reader) stopProcesses() {
	r.contents.stopProcess()
	if r.info != r.contents {
		r.info.stopProcess()
	}
	r.m.ms.metrics.readers.Dec()
}

// restartProcesses replaces the processes. If that fails, the reader keeps the ended ones
// and is dead: it can be restarted again, or closed.
func (r *Reader) restartProcesses() error {
	contents, info := r.contents, r.info
	contents.stopProcess()
	if info != contents {
		info.stopProcess()
	}
	err := r.start()
	if err != nil {
		r.contents, r.info = contents, info
	}
	return err
}

func (r *Reader) isDead() bool { return r.contents.dead || r.info.dead }

// isReusable reports whether the reader can be used again.
func (r *Reader) isReusable() bool {
	return !r.isDead() && r.bytesRead <= bulkBytes && r.m.hasRepository()
}

// Kinds calls fn with the kind of every object of ids, in order: blob, tree, commit or
// tag; empty if the object is missing.
func (r *Reader) Kinds(ctx context.Context, ids []ObjectID, fn func(i int, kind string)) error {
	err := r.pipelineRequests(ctx, r.info, ids, r.info.infoVerb, func(i int) error {
		h, err := r.info.readHeader()
		if err == nil {
			fn(i, h.kind)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read kinds of objects in repository %s: %w", r.m.id, err)
	}
	return nil
}

// Sizes calls fn with the size of every blob of ids, in order; -1 if the object is
// missing or not a blob.
func (r *Reader) Sizes(ctx context.Context, ids []ObjectID, fn func(i int, size int64)) error {
	err := r.pipelineRequests(ctx, r.info, ids, r.info.infoVerb, func(i int) error {
		h, err := r.info.readHeader()
		if err != nil {
			return err
		}
		if h.kind != "blob" {
			h.size = -1
		}
		fn(i, h.size)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read sizes in repository %s: %w", r.m.id, err)
	}
	return nil
}

// Blobs calls fn with the content of every blob of ids, in order. content is valid until
// fn returns. For an object that is missing, damaged, larger than max bytes or not a
// blob, fn receives ErrMissing or ErrTooLarge, and the reading continues; an error from
// fn ends it. The content is verified against its name: documents of all repositories
// share blob names, so a repository with a forged index must not supply text to another
// one.
func (r *Reader) Blobs(ctx context.Context, ids []ObjectID, max int64, fn func(i int, content []byte, err error) error) error {
	done, restarts, failedAt := 0, 0, -1
	for done < len(ids) {
		err := r.pipelineRequests(ctx, r.contents, ids[done:], r.contents.contentsVerb, func(int) error {
			content, err := r.readBlob(ids[done], max)
			if errors.Is(err, errDied) {
				return err
			}
			if err := fn(done, content, err); err != nil {
				return err
			}
			done++
			return nil
		})
		if err == nil {
			return nil
		}
		if !errors.Is(err, errDied) || ctx.Err() != nil || restarts == maxRestarts {
			return fmt.Errorf("read blobs of repository %s: %w", r.m.id, err)
		}
		// git crashed on a damaged object. If it crashes twice on the same one, skip it.
		restarts++
		if err := r.restartProcesses(); err != nil {
			return fmt.Errorf("read blobs of repository %s: %w", r.m.id, err)
		}
		if failedAt == done {
			if err := fn(done, nil, newObjectError(ids[done].String(), fmt.Errorf("blob %s cannot be read: %w", ids[done], ErrMissing))); err != nil {
				return err
			}
			done++
		}
		failedAt = done
	}
	return nil
}

// ReadSizes calls fn with the size of each blob, whose content was read and agrees with its name,
// or with the error of Blobs.
func (m *Mirror) ReadSizes(ctx context.Context, ids []ObjectID, max int64, fn func(i int, bytes int64, err error) error) error {
	reader, err := m.Reader(ctx)
	if err != nil {
		return err
	}
	defer reader.Close()
	return reader.Blobs(ctx, ids, max, func(i int, content []byte, err error) error { return fn(i, int64(len(content)), err) })
}

// readBlob reads the answer to a request for the contents of id.
func (r *Reader) readBlob(id ObjectID, max int64) ([]byte, error) {
	h, err := r.contents.readHeader()
	if err != nil {
		return nil, err
	}
	switch {
	case h.kind == "":
		return nil, newObjectError(id.String(), fmt.Errorf("%s: %w", h.name, ErrMissing))
	case h.size > max:
		return nil, errors.Join(fmt.Errorf("%s of %d bytes, at most %d: %w", h.name, h.size, max, ErrTooLarge), r.contents.skipContent(h.size))
	case h.kind != "blob":
		return nil, errors.Join(fmt.Errorf("%s is a %s: %w", h.name, h.kind, ErrMissing), r.contents.skipContent(h.size))
	}
	if int64(cap(r.buf)) < h.size {
		r.buf = make([]byte, h.size+h.size/4)
	}
	b := r.buf[:h.size]
	if err := r.contents.readContent(b); err != nil {
		return nil, err
	}
	r.bytesRead += h.size
	r.m.ms.metrics.readBytes.Add(float64(h.size))
	if !id.matchesContent("blob", b) {
		r.m.ms.metrics.damagedBlobs.Inc()
		return nil, newObjectError(id.String(), fmt.Errorf("blob %s holds other bytes than its name says: %w", id, ErrMissing))
	}
	return b, nil
}

// pipelineRequests requests ids in batches, sends the next batch while the previous one
// is being read, and calls answer once for each ID.
func (r *Reader) pipelineRequests(ctx context.Context, c *catFile, ids []ObjectID, verb string, answer func(i int) error) error {
	stop := c.dieWith(ctx)
	defer stop()
	asked := 0
	for i := range ids {
		for asked < len(ids) && asked-i <= requestWindow {
			next := min(asked+requestWindow, len(ids))
			if err := c.sendRequests(verb, ids[asked:next]); err != nil {
				return c.noteFailure(ctx, err)
			}
			asked = next
		}
		if err := answer(i); err != nil {
			// Some answers are still in the pipe.
			c.dead = true
			return c.noteFailure(ctx, err)
		}
	}
	return nil
}

// Commit returns the commit with the given object name, or ErrMissing.
func (r *Reader) Commit(ctx context.Context, id code.CommitID) (Commit, error) {
	if err := validateCommit(id); err != nil {
		return Commit{}, r.m.wrapError("read", err)
	}
	return r.commit(ctx, string(id))
}

// commit reads the commit with the given name.
func (r *Reader) commit(ctx context.Context, name string) (found Commit, err error) {
	err = r.readTwice(ctx, name, func() error {
		found, err = r.requestCommit(ctx, name)
		return err
	})
	return found, err
}

// requestCommit requests a commit once.
func (r *Reader) requestCommit(ctx context.Context, name string) (Commit, error) {
	c := r.contents
	stop := c.dieWith(ctx)
	defer stop()
	h, err := c.requestOne(c.contentsVerb + name + "^{commit}\n" + c.flush)
	if err != nil {
		return Commit{}, fmt.Errorf("read commit %s of repository %s: %w", name, r.m.id, c.noteFailure(ctx, err))
	}
	if h.kind != "commit" || h.size > maxCommitBytes {
		if h.kind != "" {
			c.dead = true // the content is still in the pipe
		}
		return Commit{}, newObjectError(name, fmt.Errorf("commit %s of repository %s: %w", name, r.m.id, ErrMissing))
	}
	b := make([]byte, h.size)
	if err := c.readContent(b); err != nil {
		return Commit{}, fmt.Errorf("read commit %s of repository %s: %w", name, r.m.id, c.noteFailure(ctx, err))
	}
	if id, err := ParseObjectID([]byte(h.name)); err != nil || !id.matchesContent("commit", b) {
		return Commit{}, newObjectError(h.name, fmt.Errorf("commit %s of repository %s holds other bytes than its name says: %w", h.name, r.m.id, ErrMissing))
	}
	return parseCommit(h.name, b)
}

// parseCommit parses the tree and the committer's time from the header of a commit.
func parseCommit(name string, b []byte) (Commit, error) {
	id, err := code.ParseCommitID(name)
	if err != nil {
		return Commit{}, fmt.Errorf("%w: %w", ErrGit, err)
	}
	c := Commit{ID: id}
	header, _, _ := bytes.Cut(b, []byte("\n\n"))
	for line := range bytes.Lines(header) {
		line = bytes.TrimSuffix(line, []byte{'\n'})
		if tree, ok := bytes.CutPrefix(line, []byte("tree ")); ok {
			if c.Tree, err = ParseObjectID(tree); err != nil {
				return Commit{}, fmt.Errorf("%w: %w", ErrGit, err)
			}
		}
		if who, ok := bytes.CutPrefix(line, []byte("committer ")); ok {
			c.Time = committerTime(who)
		}
		if who, ok := bytes.CutPrefix(line, []byte("author ")); ok {
			c.author = strings.ToValidUTF8(string(who), "\ufffd")
		}
	}
	return c, nil
}

// committerTime parses "NAME <MAIL> SECONDS ZONE". An invalid time becomes the zero time,
// because it must not keep a repository from being indexed.
func committerTime(who []byte) time.Time {
	_, rest, ok := bytes.Cut(who[max(0, bytes.LastIndexByte(who, '>')):], []byte("> "))
	seconds, _, _ := bytes.Cut(rest, []byte{' '})
	n, err := strconv.ParseInt(string(seconds), 10, 64)
	if !ok || err != nil || n <= 0 || n > maxCommitTime {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}

// readerEnv bounds the memory that git allocates for one object. Git inflates whole
// commits and trees before it reports their size; blobs above the bound are not
// requested.
func readerEnv(maxObjectBytes int64) []string {
	return []string{"GIT_ALLOC_LIMIT=" + strconv.FormatInt(maxObjectBytes, 10)}
}

// errDied means that git ended in the middle of an answer.
var errDied = errors.New("git cat-file ended")

// catFile is a git cat-file process.
type catFile struct {
	cmd process
	in  io.WriteCloser
	out *bufio.Reader
	// The commands of the protocol; empty with --batch.
	contentsVerb, infoVerb, flush string
	request                       []byte
	// dead means that the process was killed, or that its output is out of sync.
	dead bool
}

func startCatFile(g *git, gitDir, mode, contentsVerb, infoVerb, flush string) (*catFile, error) {
	args := []string{"cat-file", mode}
	if flush != "" {
		args = append(args, "--buffer")
	}
	// No context: the process outlives the call that starts it. Its standard error is
	// discarded, which saves the goroutine to read it.
	cmd, err := g.newProcess(context.Background(), command{gitDir: gitDir, args: args, env: g.readerEnv}, nil, nil)
	if err != nil {
		return nil, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("git cat-file: %w", err)
	}
	return &catFile{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 64<<10), contentsVerb: contentsVerb, infoVerb: infoVerb, flush: flush}, nil
}

// stopProcess kills the process and waits for it. Nothing is lost.
func (c *catFile) stopProcess() {
	c.dead = true
	_ = c.in.Close()
	_ = c.cmd.Kill()
	_ = c.cmd.Wait()
}

// dieWith kills the process when ctx ends, until stop is called.
func (c *catFile) dieWith(ctx context.Context) (stop func()) {
	unregister := context.AfterFunc(ctx, func() { _ = c.cmd.Kill() })
	return func() {
		if !unregister() {
			c.dead = true
		}
	}
}

func (c *catFile) noteFailure(ctx context.Context, err error) error {
	if errors.Is(err, errDied) {
		c.dead = true
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
	}
	return err
}

func (c *catFile) sendRequests(verb string, ids []ObjectID) error {
	b := c.request[:0]
	for _, id := range ids {
		b = append(b, verb...)
		b = id.append(b)
		b = append(b, '\n')
	}
	c.request = append(b, c.flush...)
	if _, err := c.in.Write(c.request); err != nil {
		return fmt.Errorf("%w: %w", errDied, err)
	}
	return nil
}

func (c *catFile) requestOne(request string) (objectHeader, error) {
	if _, err := io.WriteString(c.in, request); err != nil {
		return objectHeader{}, fmt.Errorf("%w: %w", errDied, err)
	}
	return c.readHeader()
}

// objectHeader is the first line of an answer. kind is empty if the object is missing.
type objectHeader struct {
	name, kind string
	size       int64
}

// readHeader reads "NAME TYPE SIZE" or "NAME missing".
func (c *catFile) readHeader() (objectHeader, error) {
	line, err := c.out.ReadSlice('\n')
	if err != nil {
		return objectHeader{}, fmt.Errorf("%w: %w", errDied, err)
	}
	fields := bytes.Fields(line)
	if len(fields) == 3 {
		if size, err := strconv.ParseInt(string(fields[2]), 10, 64); err == nil && size >= 0 {
			return objectHeader{name: string(fields[0]), kind: kindName(fields[1]), size: size}, nil
		}
	}
	if len(fields) >= 2 && (string(fields[len(fields)-1]) == "missing" || string(fields[len(fields)-1]) == "ambiguous") {
		return objectHeader{name: string(fields[0])}, nil
	}
	return objectHeader{}, fmt.Errorf("%w: unexpected answer %.200q of cat-file", ErrGit, line)
}

// kindName returns the constant for a known kind, which avoids an allocation.
func kindName(b []byte) string {
	for _, k := range [...]string{"blob", "commit", "tree", "tag"} {
		if string(b) == k {
			return k
		}
	}
	return "unknown"
}

// readContent reads len(b) bytes and the line feed after them.
func (c *catFile) readContent(b []byte) error {
	_, err := io.ReadFull(c.out, b)
	if err == nil {
		_, err = c.out.Discard(1)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errDied, err)
	}
	return nil
}

func (c *catFile) skipContent(n int64) error {
	if _, err := io.CopyN(io.Discard, c.out, n+1); err != nil {
		return fmt.Errorf("%w: %w", errDied, err)
	}
	return nil
}
