package mirror

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A disk may corrupt or lose any file of a mirror. Git's error message then depends on
// the file and on the version of git, so no message is matched. Instead, a command that
// reads only the mirror and fails, or an object that cannot be read, indicates damage. A
// fetch may also fail because of the host; in that case the mirror is checked.

// A mirror is reset at most maxResets times in resetWindow: if the repository itself
// lacks objects, its mirror looks damaged however often it is fetched.
const (
	maxResets   = 4
	resetWindow = time.Hour
)

// errDamaged means that git cannot read or replace files of the mirror.
var errDamaged = errors.New("damaged mirror")

// A mirrorError is a git error that damaged files of the mirror explain. It matches
// errDamaged, but has only the text of the original error, because a user who requested a
// missing object sees it.
type mirrorError struct{ error }

// Is implements the interface of errors.Is.
func (mirrorError) Is(target error) bool { return target == errDamaged }

// Unwrap implements the interface of errors.Is.
func (e mirrorError) Unwrap() error { return e.error }

// ResetDamaged deletes the bare repository, as Reset does, if missing or damaged files in
// it explain cause, the error of an operation on the mirror. It reports whether it
// deleted the repository; the next Fetch then recreates the mirror.
func (m *Mirror) ResetDamaged(ctx context.Context, cause error) (bool, error) {
	if ctx.Err() != nil || !m.isDamaged(ctx, cause) {
		return false, nil
	}
	if err := m.lockMirror(ctx); err != nil {
		return false, err
	}
	defer m.unlockMirror()
	now := time.Now()
	m.resets = slices.DeleteFunc(m.resets, func(at time.Time) bool { return now.Sub(at) >= resetWindow })
	if len(m.resets) >= maxResets {
		m.ms.o.Logger.Error("mirror is damaged and was re-fetched too often; check the repository with git fsck, and the disk", "repository_id", m.id, "directory", m.dir, "resets", len(m.resets), "error", cause)
		return false, nil
	}
	m.resets = append(m.resets, now)
	m.ms.metrics.resets.Inc()
	m.ms.o.Logger.Warn("mirror is damaged; re-fetching it", "repository_id", m.id, "directory", m.dir, "error", cause)
	return true, m.reset()
}

// isDamaged reports whether damaged files of the mirror explain an error.
func (m *Mirror) isDamaged(ctx context.Context, err error) bool {
	switch {
	case errors.Is(err, ErrDiskFull):
		return false
	case errors.Is(err, ErrMissing), errors.Is(err, errDamaged), errors.Is(err, errDied), m.isInTheWay(err):
		return true
	case errors.Is(err, ErrGit):
		_, err := m.ms.git.readOutput(ctx, command{gitDir: m.gitDir(), limit: maxRefsOutput, args: []string{"fsck", "--connectivity-only", "--no-dangling", "--no-progress"}})
		return errors.Is(err, errDamaged) || errors.Is(err, ErrMissing)
	}
	return false
}

// isInTheWay reports whether err means that a file of the mirror cannot be read or
// replaced because of its type, such as a directory in the place of a file.
func (m *Mirror) isInTheWay(err error) bool {
	var file *fs.PathError
	var link *os.LinkError
	path, cause := "", error(nil)
	switch {
	case errors.As(err, &link):
		path, cause = link.New, link.Err
	case errors.As(err, &file):
		path, cause = file.Path, file.Err
	}
	return strings.HasPrefix(path, m.gitDir()+string(filepath.Separator)) &&
		slices.ContainsFunc([]error{syscall.EEXIST, syscall.EISDIR, syscall.ENOTDIR, syscall.ENOTEMPTY, syscall.EIO}, func(e error) bool { return errors.Is(cause, e) })
}

const (
	// brokenRef starts git's warning about a ref whose file it cannot read; git then
	// continues without the ref.
	brokenRef = "warning: ignoring broken ref"
	// lockRef appears in git's error message about a ref that it cannot write, for
	// example because a directory is in the place of the file.
	lockRef = "cannot lock ref '"
	// notBare starts git's error message about a mirror that lost its configuration.
	notBare = "fatal: refusing to fetch into branch '"
)

// blameMirror marks err, the failure of c, as damage if only the files of the mirror can
// explain it. A process that was killed, or could not start, is no evidence of damage.
func (c command) blameMirror(err, exit error, stderr string) error {
	var status *exec.ExitError
	switch {
	case c.gitDir == "" || c.subcommandName() == "init" || errors.Is(err, ErrDiskFull) || errors.Is(err, ErrPattern):
		return err
	case !errors.As(exit, &status) || status.ExitCode() <= 0:
		return err
	case c.subcommandName() == "fetch" && !strings.Contains(ownLines(stderr), lockRef) && !strings.Contains(ownLines(stderr), notBare):
		return err
	}
	return mirrorError{newObjectError(missingObject(ownLines(stderr)), err)}
}

// missingPattern matches git's messages about an object that it lacks or cannot read. The
// name follows. A message in another form only makes the error less precise.
var missingPattern = regexp.MustCompile(`(?:(?:[Uu]nable to|[Cc]ould not|[Cc]annot|[Ff]ailed to) (?:read|parse|unpack|load)|[Bb]ad|[Mm]issing|[Nn]ot a valid|[Cc]orrupt|loose|packed|header for)` +
	`(?: (?:tree|blob|commit|tag|object|loose|name))* ['(]?([0-9a-f]{40}(?:[0-9a-f]{24})?)\b`)

// missingObject returns the name of the first object that git's standard error reports as
// missing or damaged; empty if there is none.
func missingObject(stderr string) string {
	if found := missingPattern.FindStringSubmatch(stderr); found != nil {
		return found[1]
	}
	return ""
}

// maxReported bounds the missing objects that the log names until the process restarts.
const maxReported = 1000

// ReportMissing counts a request that failed because of a missing or damaged object. It
// logs each object once.
func (m *Mirror) ReportMissing(object string, err error) {
	m.ms.metrics.missing.Inc()
	m.ms.mu.Lock()
	known := m.ms.mu.reported[object] || len(m.ms.mu.reported) == maxReported
	if !known {
		m.ms.mu.reported[object] = true
	}
	m.ms.mu.Unlock()
	if !known {
		m.ms.o.Logger.Warn("object of a mirror is missing or damaged; remove the mirror to fetch it again", "repository_id", m.id, "directory", m.dir, "object", object, "error", err)
	}
}

// withChecksum appends a line with the checksum to a single-line text.
func withChecksum(text []byte) []byte {
	sum := sha256.Sum256(text)
	return append(append(append(slices.Clip(text), '\n'), hex.EncodeToString(sum[:])...), '\n')
}

// checkedText returns the text passed to withChecksum, and whether it is unchanged.
// Version 0.1 wrote no checksum.
func checkedText(b []byte) ([]byte, bool) {
	text, _, found := bytes.Cut(b, []byte("\n"))
	return text, !found || bytes.Equal(withChecksum(text), b)
}
