package simulation

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// errExit is the exit error of git after it has printed its message.
var errExit = errors.New("exit status 128")

// gitFatal is the error message of a git command.
type gitFatal string

func (f gitFatal) Error() string { return string(f) }

// gitCall is one git command. As in git, the refs and commits of a mirror are files in
// its directory, so that their removal or truncation has an effect.
type gitCall struct {
	host *Host
	dir  string
	args []string // starting at the command's name
	e    mirror.Execution
}

// Git returns the git executor of a process. All commands await the scheduler, except
// version and cat-file, which only reads. Fail means an unreachable host for commands
// that contact it, and a full disk for others.
func (h *Host) Git(s *Scheduler, p *Process) mirror.Executor {
	return func(ctx context.Context, e mirror.Execution) error {
		dir, _ := strings.CutPrefix(e.Args[0], "--git-dir=")
		c := &gitCall{host: h, dir: dir, args: e.Args[1:], e: e}
		verdict, err := c.awaitTurn(ctx, s, p)
		if err == nil {
			err = c.executeCommand(ctx, verdict)
		}
		if said := gitFatal(""); errors.As(err, &said) {
			_, _ = fmt.Fprintln(e.Stderr, string(said))
			return errExit
		}
		return err
	}
}

func (c *gitCall) awaitTurn(ctx context.Context, s *Scheduler, p *Process) (Verdict, error) {
	if p.Killed() {
		return Succeed, ErrKilled
	}
	if c.args[0] == "cat-file" || c.args[0] == "version" {
		return Succeed, nil
	}
	// The path above the mirror differs in each run.
	name := filepath.Base(filepath.Dir(c.dir))
	return s.Await(ctx, p, fmt.Sprintf("git %s %s", name, strings.Join(c.args, " ")))
}

func (c *gitCall) executeCommand(ctx context.Context, verdict Verdict) error {
	switch c.args[0] {
	case "version":
		_, err := io.WriteString(c.e.Stdout, "git version 2.39.5\n")
		return err
	case "init":
		return c.initMirror()
	case "ls-remote":
		return c.listRemote(verdict)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "HEAD")); err != nil {
		return gitFatal("fatal: not a git repository: '" + c.dir + "'")
	}
	if c.host.DiskIsFull() && (c.args[0] == "fetch" || c.args[0] == "update-ref") {
		return gitFatal("fatal: write error: No space left on device")
	}
	switch c.args[0] {
	case "fetch":
		return c.fetchRefs(verdict)
	case "for-each-ref":
		return c.listRefs()
	case "update-ref":
		return c.updateRefs()
	case "symbolic-ref":
		return os.WriteFile(filepath.Join(c.dir, "HEAD"), []byte("ref: "+c.args[2]+"\n"), 0o600)
	case "cat-file":
		return c.catFile(ctx)
	case "ls-tree":
		return c.listTree()
	case "diff-tree":
		return c.compareTrees()
	case "rev-list":
		return c.listFirstParents()
	}
	return gitFatal("git: '" + c.args[0] + "' is not a git command of the simulation")
}

func (c *gitCall) initMirror() error {
	for _, dir := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(c.dir, dir), 0o700); err != nil {
			return err
		}
	}
	head := "main"
	for _, arg := range c.args {
		if name, ok := strings.CutPrefix(arg, "--initial-branch="); ok {
			head = name
		}
	}
	return errors.Join(
		os.WriteFile(filepath.Join(c.dir, "config"), []byte("[core]\n\tbare = true\n"), 0o600),
		os.WriteFile(filepath.Join(c.dir, "HEAD"), []byte("ref: refs/heads/"+head+"\n"), 0o600))
}

// listRemote answers ls-remote --symref … URL HEAD PATTERN…. It ignores the patterns,
// except that HEAD and refs/heads/* select branches.
func (c *gitCall) listRemote(verdict Verdict) error {
	at := slices.Index(c.args, "--end-of-options") + 1
	head, branches, failure := c.host.listRefs(c.args[at])
	if verdict != Succeed {
		failure = "fatal: unable to access the host: Connection reset by peer"
	}
	if failure != "" {
		return gitFatal(failure)
	}
	if slices.Contains(c.e.Env, "GIT_TRACE_PACKET=1") {
		if _, err := fmt.Fprintln(c.e.Stderr, "packet:          git< 0000"); err != nil {
			return err
		}
	}
	var out bytes.Buffer
	if id := branches[head]; id != "" {
		fmt.Fprintf(&out, "ref: %s\tHEAD\n%s\tHEAD\n", head, id)
	}
	for _, ref := range slices.Sorted(maps.Keys(branches)) {
		if slices.ContainsFunc(c.args[at+1:], func(p string) bool { return p == string(ref) || p == "refs/heads/*" }) {
			fmt.Fprintf(&out, "%s\t%s\n", branches[ref], ref)
		}
	}
	_, err := c.e.Stdout.Write(out.Bytes())
	return err
}

// fetchRefs fetches the refs that standard input names, either all or none.
func (c *gitCall) fetchRefs(verdict Verdict) error {
	_, branches, failure := c.host.listRefs(c.args[slices.Index(c.args, "--end-of-options")+1])
	if verdict != Succeed {
		failure = "fatal: the remote end hung up: Connection reset by peer"
	}
	if failure != "" {
		return gitFatal(failure)
	}
	wanted := map[code.Ref]code.CommitID{}
	lines := bufio.NewScanner(c.e.Stdin)
	for lines.Scan() {
		from, _, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "+"), ":")
		id := branches[code.Ref(from)]
		if id == "" {
			return gitFatal("fatal: couldn't find remote ref " + from)
		}
		wanted[code.Ref(from)] = id
	}
	for _, ref := range slices.Sorted(maps.Keys(wanted)) {
		if err := os.WriteFile(filepath.Join(c.dir, "objects", string(wanted[ref])), nil, 0o600); err != nil {
			return err
		}
		if err := c.writeRef(string(ref), wanted[ref]); err != nil {
			return err
		}
	}
	return nil
}

func (c *gitCall) writeRef(name string, id code.CommitID) error {
	path := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(string(id)+"\n"), 0o600)
}

// readRef returns the commit of a ref, or an empty ID if there is none.
func (c *gitCall) readRef(name string) code.CommitID {
	b, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		return ""
	}
	return code.CommitID(strings.TrimSpace(string(b)))
}

// listRefs answers for-each-ref with one of the formats of package mirror.
func (c *gitCall) listRefs() error {
	var out bytes.Buffer
	for _, arg := range c.args {
		if strings.HasPrefix(arg, "refs/") {
			if err := c.listRefsBelow(&out, arg); err != nil {
				return err
			}
		}
	}
	_, err := c.e.Stdout.Write(out.Bytes())
	return err
}

// listRefsBelow writes the refs with a prefix. All of them point to commits.
func (c *gitCall) listRefsBelow(out *bytes.Buffer, prefix string) error {
	format := strings.Join(c.args, " ")
	return filepath.WalkDir(filepath.Join(c.dir, prefix), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && d.IsDir() {
			return nil
		}
		if err != nil {
			return err
		}
		ref, err := filepath.Rel(c.dir, path)
		if err != nil {
			return err
		}
		id := c.readRef(ref)
		if c.findCommit(id) == nil {
			return gitFatal("fatal: missing object " + string(id) + " for " + ref)
		}
		switch {
		case strings.Contains(format, "%(*objectname)"): // empty, except for annotated tags
			fmt.Fprintf(out, "%s commit %s  \n", id, ref)
		case strings.Contains(format, "%(objecttype)"):
			fmt.Fprintf(out, "%s commit %s\n", id, ref)
		default:
			fmt.Fprintf(out, "%s %s\n", id, ref)
		}
		return nil
	})
}

// updateRefs answers update-ref --stdin.
func (c *gitCall) updateRefs() error {
	lines := bufio.NewScanner(c.e.Stdin)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		switch {
		case f[0] == "delete":
			if err := os.Remove(filepath.Join(c.dir, f[1])); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		case c.findCommit(code.CommitID(f[2])) == nil:
			return gitFatal("fatal: cannot update ref '" + f[1] + "': trying to write ref with nonexistent object " + f[2])
		default:
			if err := c.writeRef(f[1], code.CommitID(f[2])); err != nil {
				return err
			}
		}
	}
	return nil
}

// findCommit returns a commit of the mirror, or nil if the mirror lacks it.
func (c *gitCall) findCommit(id code.CommitID) *commit {
	if _, err := os.Stat(filepath.Join(c.dir, "objects", string(id))); id == "" || err != nil {
		return nil
	}
	return c.host.findCommit(id)
}
