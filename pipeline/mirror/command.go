package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// gitConfig is the only configuration that git reads except a mirror's own. It is a file
// because git passes a file on to its child processes, but drops -c flags for some of
// them.
//
//   - safe.directory is *, because a repository that is read by path usually belongs
//     to another user; Policy.Roots has already decided that it may be read. The check
//     protects against hooks and programs named in that repository's configuration,
//     which never run here: we list its refs and read its objects.
//   - fsckObjects is off: it protects a checkout, which does not exist here, and it
//     refuses to fetch many legitimate old repositories. Object names are still
//     verified.
//   - bigFileThreshold makes git write larger blobs, which are not indexed, to disk
//     piece by piece during a fetch.
//   - deltaBaseCacheLimit limits a bulk reader to some 100 MB; reading the Linux
//     tree takes 8 % longer than with the default of 96m.
const gitConfig = `# Written by quarry at every start.
[core]
	hooksPath = /dev/null
	fsmonitor = false
	symlinks = false
	attributesFile = /dev/null
	deltaBaseCacheLimit = 32m
	bigFileThreshold = 32m
[pack]
	threads = %d
[safe]
	directory = *
[protocol]
	allow = never
	version = 2
[http]
	followRedirects = false
	lowSpeedLimit = 1000
	lowSpeedTime = 60
[credential]
	helper =
[transfer]
	fsckObjects = false
[fetch]
	recurseSubmodules = false
	writeCommitGraph = false
[submodule]
	recurse = false
[gc]
	auto = 0
[maintenance]
	auto = false
[init]
	templateDir =
[advice]
	detachedHead = false
`

const configName = "git.config"

// git runs the git program.
type git struct {
	program string
	execute Executor // nil runs the git program
	dir     string
	env     []string
	version [2]int
	timeout time.Duration
	// readerEnv is the environment of readers, in addition to env.
	readerEnv   []string
	packThreads int
}

// minVersion is the oldest git with the features that are always required:
// GIT_CONFIG_GLOBAL (2.32), fetch --stdin, --end-of-options.
var minVersion = [2]int{2, 34}

// Versions that introduced optional features.
var (
	versionBatchCommand = [2]int{2, 36}
	versionCurlResolve  = [2]int{2, 37}
)

func newGit(ctx context.Context, o Options) (*git, error) {
	program, err := "git", error(nil)
	if o.Execute == nil {
		program, err = exec.LookPath(o.Git)
	}
	if err != nil {
		return nil, fmt.Errorf("find git: %w; install git %d.%d or newer", err, minVersion[0], minVersion[1])
	}
	g := &git{program: program, execute: o.Execute, dir: o.Dir, timeout: o.ReadTimeout, env: buildEnvironment(o, filepath.Join(o.Dir, configName)),
		readerEnv: readerEnv(o.MaxObjectBytes), packThreads: o.PackThreads}
	if err := g.writeConfig(); err != nil {
		return nil, err
	}
	out, err := g.readOutput(ctx, command{args: []string{"version"}})
	if err != nil {
		return nil, err
	}
	if g.version, err = parseVersion(string(out)); err != nil {
		return nil, err
	}
	return g, nil
}

// writeConfig writes the configuration file for git.
func (g *git) writeConfig() error {
	return errors.Join(os.MkdirAll(g.dir, 0o700), writeFile(filepath.Join(g.dir, configName), g.configText()))
}

func (g *git) configText() []byte { return fmt.Appendf(nil, gitConfig, g.packThreads) }

// ensureConfig rewrites the configuration if it was removed or damaged while the process
// runs. Otherwise git would use its defaults, which trust the configuration of a
// repository.
func (g *git) ensureConfig() error {
	if b, err := os.ReadFile(filepath.Join(g.dir, configName)); err == nil && bytes.Equal(b, g.configText()) {
		return nil
	}
	if err := g.writeConfig(); err != nil {
		return fmt.Errorf("write the configuration of git: %w", err)
	}
	return nil
}

// CheckVersion returns an error if the output of "git version" is not a version
// that mirrors support.
func CheckVersion(out string) error {
	_, err := parseVersion(out)
	return err
}

// parseVersion parses the output of "git version", and returns an error for a version
// that is too old.
func parseVersion(out string) (v [2]int, err error) {
	if _, err := fmt.Sscanf(out, "git version %d.%d", &v[0], &v[1]); err != nil {
		return v, fmt.Errorf("read the version of git from %.80q: %w", strings.TrimSpace(out), err)
	}
	if v[0] < minVersion[0] || v[0] == minVersion[0] && v[1] < minVersion[1] {
		return v, fmt.Errorf("git %d.%d is too old: install %d.%d or newer", v[0], v[1], minVersion[0], minVersion[1])
	}
	return v, nil
}

// buildEnvironment builds the environment from scratch, so that variables of this
// process, such as LANG, or GIT_DIR in a hook, do not change what git does.
func buildEnvironment(o Options, config string) []string {
	schemes := o.Policy.Schemes
	if len(schemes) == 0 {
		schemes = []string{"https"}
	}
	// Never file: repositories on disk are copied (local.go), not fetched.
	schemes = slices.DeleteFunc(slices.Clone(schemes), func(s string) bool { return s == "file" })
	return append([]string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=/nonexistent",
		"LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=" + config,
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_ASKPASS=true",
		"SSH_ASKPASS_REQUIRE=never",
		"GIT_SSH_COMMAND=" + o.SSHCommand,
		"GIT_SSH_VARIANT=ssh",
		"GIT_ALLOW_PROTOCOL=" + strings.Join(schemes, ":"),
		"GIT_PROTOCOL_FROM_USER=0",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_CEILING_DIRECTORIES=" + filepath.Dir(o.Dir),
	}, o.Env...)
}

func (g *git) hasVersion(v [2]int) bool {
	return g.version[0] > v[0] || g.version[0] == v[0] && g.version[1] >= v[1]
}

// command is one run of git.
type command struct {
	// gitDir is the repository; empty for a command that needs none.
	gitDir string
	args   []string
	stdin  []byte
	env    []string
	// limit bounds the standard output; default maxSmallOutput.
	limit int64
	// timeout bounds the run; default git.timeout.
	timeout time.Duration
	// secrets are masked in errors.
	secrets []string
	// allRefs makes the command fail if git omits a ref that it cannot read.
	allRefs bool
	// allObjects makes a streamed command fail if git reports a missing object and
	// continues without it.
	allObjects bool
	// trace receives the end of the standard error, if not nil.
	trace *string
}

func (c command) subcommandName() string { return c.args[0] }

// newProcess returns the process for c, not yet started. Its process group is killed when
// ctx ends. Its output goes to stdout and stderr; nil discards the output, or leaves it
// to a pipe.
func (g *git) newProcess(ctx context.Context, c command, stdout, stderr io.Writer) (process, error) {
	if err := g.ensureConfig(); err != nil {
		return nil, err
	}
	gitDir := c.gitDir
	if gitDir == "" {
		// Without a --git-dir, git would search for a repository in the current directory
		// and its parents.
		gitDir = "/nonexistent"
	}
	args, env := append([]string{"--git-dir=" + gitDir}, c.args...), append(slices.Clip(g.env), c.env...)
	if g.execute != nil {
		return newExecutedProcess(ctx, g.execute, Execution{Args: args, Env: env, Stdin: bytes.NewReader(c.stdin), Stdout: stdout, Stderr: stderr}), nil
	}
	cmd := exec.CommandContext(ctx, g.program, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = g.dir, env, stdout, stderr
	if c.stdin != nil {
		cmd.Stdin = bytes.NewReader(c.stdin)
	}
	ownGroup(cmd)
	cmd.Cancel = func() error { return killGroup(cmd) }
	cmd.WaitDelay = 5 * time.Second
	return childProcess{cmd}, nil
}

// readOutput runs c and returns its standard output.
func (g *git) readOutput(ctx context.Context, c command) ([]byte, error) {
	ctx, cancel := g.withTimeout(ctx, c)
	defer cancel()
	limit := c.limit
	if limit == 0 {
		limit = maxSmallOutput
	}
	stdout, stderr := &cappedBuffer{limit: limit}, &tailBuffer{limit: maxStderr}
	cmd, err := g.newProcess(ctx, c, stdout, stderr)
	if err != nil {
		return nil, err
	}
	err = cmd.Run()
	if c.trace != nil {
		*c.trace = stderr.wholeLines()
	}
	if err != nil {
		return nil, g.wrapFailure(ctx, c, stdout.exceeded, stderr.wholeLines(), err)
	}
	if said := stderr.wholeLines(); c.allRefs && strings.Contains(said, brokenRef) {
		return nil, mirrorError{gitError(c.subcommandName(), said, errors.New("a ref cannot be read"))}
	}
	return stdout.buf.Bytes(), nil
}

// streamOutput runs c and calls read with its standard output. Unless read fails, it must
// consume the output to the end.
func (g *git) streamOutput(ctx context.Context, c command, read func(io.Reader) error) error {
	ctx, cancel := g.withTimeout(ctx, c)
	defer cancel()
	stderr := &tailBuffer{limit: maxStderr}
	cmd, err := g.newProcess(ctx, c, nil, stderr)
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("git %s: %w", c.subcommandName(), err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("git %s: %w", c.subcommandName(), err)
	}
	readErr := read(stdout)
	if readErr != nil {
		_ = cmd.Kill()
	}
	if err := cmd.Wait(); err != nil && (readErr == nil || ctx.Err() != nil || stderr.buf.Len() > 0) {
		return g.wrapFailure(ctx, c, false, stderr.wholeLines(), err)
	}
	if said := stderr.wholeLines(); c.allObjects && readErr == nil && missingObject(said) != "" {
		return mirrorError{newObjectError(missingObject(said), gitError(c.subcommandName(), said, errors.New("an object cannot be read")))}
	}
	return readErr
}

func (g *git) withTimeout(ctx context.Context, c command) (context.Context, context.CancelFunc) {
	timeout := c.timeout
	if timeout == 0 {
		timeout = g.timeout
	}
	return context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%w: more than %s", ErrTimeout, timeout))
}

// notRepository starts git's error message about a --git-dir that is not a repository.
const notRepository = "fatal: not a git repository: "

func (g *git) wrapFailure(ctx context.Context, c command, exceeded bool, stderr string, err error) error {
	stderr = maskSecrets(stderr, c.secrets)
	switch cause := context.Cause(ctx); {
	case exceeded:
		return fmt.Errorf("git %s: output: %w", c.subcommandName(), ErrTooLarge)
	case cause != nil:
		return fmt.Errorf("git %s: %w", c.subcommandName(), cause)
	case c.gitDir != "" && strings.Contains(stderr, notRepository+"'"+c.gitDir):
		// This is about the mirror, not the repository at the clone URL.
		return fmt.Errorf("git %s: %w", c.subcommandName(), errNoMirror)
	}
	return c.blameMirror(gitError(c.subcommandName(), stderr, err), err, stderr)
}

// cappedBuffer buffers what is written to it, and fails above limit. It does not embed
// bytes.Buffer, whose ReadFrom would bypass Write.
type cappedBuffer struct {
	buf      bytes.Buffer
	limit    int64
	exceeded bool
}

func (b *cappedBuffer) Write(p []byte) (int, error) {
	if int64(b.buf.Len()+len(p)) > b.limit {
		b.exceeded = true
		return 0, errors.New("output over the limit")
	}
	return b.buf.Write(p)
}

// tailBuffer keeps the last limit bytes written to it.
type tailBuffer struct {
	buf   bytes.Buffer
	limit int
	// cut reports that the beginning was dropped.
	cut bool
}

func (b *tailBuffer) Write(p []byte) (int, error) {
	n := len(p)
	b.buf.Write(p[max(0, n-b.limit):])
	b.cut = b.cut || n > b.limit
	if over := b.buf.Len() - b.limit; over > 0 {
		b.buf.Next(over)
		b.cut = true
	}
	return n, nil
}

// wholeLines returns the complete lines in the buffer. It omits a line whose beginning
// was dropped, since it may be the rest of a credential that masking cannot recognize.
func (b *tailBuffer) wholeLines() string {
	text := b.buf.String()
	if !b.cut {
		return text
	}
	_, whole, _ := strings.Cut(text, "\n")
	return whole
}

// writeFile atomically replaces the file at path. It does not sync, because files written
// this way can be written again.
func writeFile(path string, b []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(b)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), path); err == nil {
		return nil
	}
	if info, statErr := os.Lstat(path); statErr != nil || !info.IsDir() {
		return err
	}
	// A directory is in the place of the file.
	return errors.Join(os.RemoveAll(path), os.Rename(tmp.Name(), path))
}

// makeDirectory creates a directory and its parents, and removes a file that is in the
// place of the directory or its parent.
func makeDirectory(path string) error {
	err := os.MkdirAll(path, 0o700)
	if !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	for _, p := range []string{filepath.Dir(path), path} {
		if info, err := os.Lstat(p); err == nil && !info.IsDir() {
			if err := os.Remove(p); err != nil {
				return err
			}
		}
	}
	return os.MkdirAll(path, 0o700)
}
