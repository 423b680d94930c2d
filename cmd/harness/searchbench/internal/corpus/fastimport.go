package corpus

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// Branch is the branch of every repository that this package builds.
	Branch = "main"
	// author and firstDate make commits reproducible. Dates are in seconds since 1970,
	// UTC.
	author    = "Quarry corpora <corpora@example.invalid>"
	firstDate = 1_700_000_000
	// importTimeout bounds one fast-import; Linux takes one to two minutes on a slow machine.
	importTimeout = 30 * time.Minute
)

// gitEnv isolates the build from the git settings of the user and the machine.
var gitEnv = []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1"}

func gitCommand(dir string, args ...string) command {
	return command{dir: dir, env: gitEnv, args: append([]string{"git"}, args...)}
}

// RunGit runs a git command in a directory, without the settings of the user and the
// machine.
func RunGit(ctx context.Context, dir string, args ...string) error {
	return gitCommand(dir, args...).run(ctx)
}

// initBare creates an empty bare repository whose HEAD is Branch.
func initBare(ctx context.Context, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	return gitCommand("", "init", "--quiet", "--bare", "--initial-branch="+Branch, dir).run(ctx)
}

// fastImport passes the output of write to git fast-import in repository dir.
func fastImport(ctx context.Context, dir string, write func(w *bufio.Writer) error) error {
	ctx, cancel := context.WithTimeout(ctx, importTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "fast-import", "--quiet", "--done")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), gitEnv...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = killGrace
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	writeErr := writeStream(stdin, write)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("git fast-import in %s: %w: %s", dir, err, lastLines(stderr.String(), 5))
	}
	return writeErr
}

func writeStream(stdin io.WriteCloser, write func(w *bufio.Writer) error) error {
	w := bufio.NewWriterSize(stdin, 1<<20)
	err := write(w)
	if err == nil {
		_, err = w.WriteString("done\n")
	}
	if err == nil {
		err = w.Flush()
	}
	if closeErr := stdin.Close(); err == nil {
		err = closeErr
	}
	return err
}

// commitHeader begins a commit on ref. sequence determines its date.
func commitHeader(w *bufio.Writer, ref, message string, sequence int) {
	fmt.Fprintf(w, "commit %s\ncommitter %s %d +0000\ndata %d\n%s\n", ref, author, firstDate+sequence, len(message), message)
}

// writeFileChange writes one file of a commit.
func writeFileChange(w *bufio.Writer, mode, path string, content []byte) error {
	fmt.Fprintf(w, "M %s inline %s\ndata %d\n", mode, quotePath(path), len(content))
	if _, err := w.Write(content); err != nil {
		return err
	}
	return w.WriteByte('\n')
}

// quotePath quotes a path for fast-import: backslash escapes, octal for control
// characters, everything else unchanged.
func quotePath(path string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20 || c == 0x7f:
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// resolveCommit returns the commit of ref in repository dir.
func resolveCommit(ctx context.Context, dir, ref string) (string, error) {
	out, err := gitCommand(dir, "rev-parse", "--verify", "--end-of-options", ref+"^{commit}").captureOutput(ctx)
	return strings.TrimSpace(string(out)), err
}

// pushBranch returns the branch name of the n-th prepared commit, counted from 1.
func pushBranch(n int) string { return "push-" + fmt.Sprintf("%02d", n) }
