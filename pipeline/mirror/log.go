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

	"github.com/quarrysearch/quarry/schemas/code"
)

const (
	// maxLogField bounds a field of a commit, usually a message; a longer one is cut.
	maxLogField = 256 << 10
	// maxFollowed bounds how many commits deep into the history of a followed file a page
	// may be.
	maxFollowed = 100_000
	// renameLimit bounds the files that git compares with each other to detect renames
	// with changes. Renames without changes are always found.
	renameLimit = "-l1000"
)

// LogQuery selects commits. Only Commit is required.
type LogQuery struct {
	// Commit is where the history starts; it is returned newest first.
	Commit code.CommitID
	// Except excludes this commit and its ancestors; empty means none.
	Except code.CommitID
	// Path selects the commits that change it or something below it.
	Path string
	// Follow continues the history of a renamed file under its former name.
	Follow bool
	// FirstLine and LastLine select the commits that changed these lines of the file
	// Path, wherever the lines were and under the file's former names; 0 means none.
	FirstLine, LastLine int
	// Message and Author select commits of which a line matches: basic regular
	// expressions, case-insensitive.
	Message, Author string
	// Since and Until bound the committer's time, in seconds; 0 means no bound.
	Since, Until int64
	// Skip and Limit select a page.
	Skip, Limit int
}

// LogEntry is a commit in a log; the mailmap has been applied to names.
type LogEntry struct {
	ID      code.CommitID
	Parents []code.CommitID
	// Date is the author's date in RFC 3339, in the author's time zone.
	Date        string
	AuthorName  string
	AuthorEmail string
	// CommitDate is the committer's date, by which git sorts a history.
	CommitDate string
	// Refs are the branches and tags at the commit: "HEAD -> main, release/1".
	Refs    string
	Subject string
	Body    string
}

const (
	// Git prints %aN itself if it cannot parse the author line; %an is empty then.
	logFormat = "%H%x00%P%x00%ad%x00%an%x00%aN%x00%aE%x00%D%x00%s%x00%b%x00%cd"
	logFields = 10
)

// Log returns one page of a history.
func (m *Mirror) Log(ctx context.Context, q LogQuery) ([]LogEntry, error) {
	if q.Follow && q.Skip > maxFollowed {
		return nil, fmt.Errorf("page after %d commits of a followed file: %w", maxFollowed, ErrTooLarge)
	}
	args := []string{"log", "-z", "--no-color", "--no-show-signature", "--encoding=UTF-8", "--date=raw", "--format=tformat:" + logFormat,
		"--decorate-refs=HEAD", "--decorate-refs=" + branchPrefix + "*", "--decorate-refs=refs/tags/*"}
	skip := 0
	if q.Follow {
		// git applies --skip before it follows renames.
		skip = q.Skip
	} else {
		args = append(args, "--skip="+strconv.Itoa(q.Skip))
	}
	args = append(args, "--max-count="+strconv.Itoa(q.Limit+skip))
	var entries []LogEntry
	var unparsed []int
	err := m.runLog(ctx, args, q, func(r io.Reader) error {
		return eachLogEntry(r, func(e LogEntry, parsed bool) {
			if skip--; skip >= 0 {
				return
			}
			if !parsed {
				unparsed = append(unparsed, len(entries))
			}
			entries = append(entries, e)
		})
	})
	for _, i := range unparsed {
		if err == nil {
			entries[i].AuthorName, entries[i].AuthorEmail, err = m.readAuthor(ctx, entries[i].ID)
		}
	}
	return entries, err
}

// CountLog returns how many commits a query selects, regardless of its page.
func (m *Mirror) CountLog(ctx context.Context, q LogQuery) (int, error) {
	n := 0
	if q.Author != "" || q.Follow || q.FirstLine > 0 {
		// rev-list does not support the mailmap, --follow or -L.
		err := m.runLog(ctx, []string{"log", "-z", "--no-color", "--no-show-signature", "--format=tformat:%x25"}, q, func(r io.Reader) error {
			return eachToken(r, 1, func([]byte) { n++ })
		})
		return n, err
	}
	err := m.runLog(ctx, []string{"rev-list", "--count"}, q, func(r io.Reader) error {
		b, err := io.ReadAll(io.LimitReader(r, maxSmallOutput))
		if err == nil {
			n, err = strconv.Atoi(strings.TrimSpace(string(b)))
		}
		return err
	})
	return n, err
}

// runLog runs a command that walks the history of q.
func (m *Mirror) runLog(ctx context.Context, args []string, q LogQuery, read func(io.Reader) error) error {
	if err := validateCommit(q.Commit); err != nil {
		return m.wrapError("read the history of", err)
	}
	paths, err := m.pathArgs(ctx, q.Commit, q.Path)
	if err != nil {
		return m.wrapError("read the history of", err)
	}
	args = append(args, q.filterArgs()...)
	if q.FirstLine > 0 {
		raw, err := m.checkLines(ctx, &q)
		if errors.Is(err, ErrNoLine) {
			return err // clients see its text
		} else if err != nil {
			return m.wrapError("read the history of", err)
		}
		args, paths = append(args, "--no-patch", fmt.Sprintf("-L%d,%d:%s", q.FirstLine, q.LastLine, raw)), nil
	}
	args = append(args, "--end-of-options", string(q.Commit))
	if q.Except != "" {
		if err := validateCommit(q.Except); err != nil {
			return m.wrapError("read the history of", err)
		}
		args = append(args, "^"+string(q.Except))
	}
	args = append(args, "--")
	c := command{gitDir: m.gitDir(), args: append(args, paths...), env: literalPaths}
	if err := m.ms.git.streamOutput(ctx, c, read); err != nil {
		return fmt.Errorf("history of %s in repository %s: %w", q.Commit, m.id, err)
	}
	return nil
}

// maxLinesFile bounds the size of a file whose line history is read.
const maxLinesFile = 8 << 20

// checkLines returns the raw path of the file of q in git. It fails with ErrNoPath, or
// with ErrNoLine if the file has fewer lines than FirstLine, and reduces LastLine to the
// number of lines.
func (m *Mirror) checkLines(ctx context.Context, q *LogQuery) (raw string, err error) {
	r, err := m.Reader(ctx)
	if err != nil {
		return "", err
	}
	defer r.Close()
	n, raw, err := r.findAt(ctx, q.Commit, q.Path)
	if err != nil {
		return "", err
	}
	if !n.Mode.IsFile() {
		return "", fmt.Errorf("%.200q is no file: %w", q.Path, ErrNoPath)
	}
	text, _, err := r.Blob(ctx, n.ID, maxLinesFile)
	if err != nil {
		return "", err
	}
	lines := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		lines++
	}
	if q.FirstLine > lines {
		return "", fmt.Errorf("line %d: %w: it has %d", q.FirstLine, ErrNoLine, lines)
	}
	q.LastLine = min(q.LastLine, lines)
	return raw, nil
}

// filterArgs returns arguments of the form --name=value, so that a value cannot become
// a separate option.
func (q *LogQuery) filterArgs() []string {
	var args []string
	if q.Message != "" || q.Author != "" {
		args = append(args, "--basic-regexp", "--regexp-ignore-case")
	}
	if q.Message != "" {
		args = append(args, "--grep="+q.Message)
	}
	if q.Author != "" {
		args = append(args, "--author="+q.Author)
	}
	if q.Since != 0 {
		args = append(args, "--max-age="+strconv.FormatInt(q.Since, 10))
	}
	if q.Until != 0 {
		args = append(args, "--min-age="+strconv.FormatInt(q.Until, 10))
	}
	if q.Follow && q.Path != "" {
		args = append(args, "--follow", renameLimit)
	}
	return args
}

// literalPaths keeps git from interpreting a path as a pattern or as :(magic).
var literalPaths = []string{"GIT_LITERAL_PATHSPECS=1"}

// pathArgs returns the raw path in git; nothing for the empty path. A path that does not
// exist in the commit may have existed earlier, so it is passed unchanged.
func (m *Mirror) pathArgs(ctx context.Context, commit code.CommitID, path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	if err := code.ValidatePath(path); err != nil {
		return nil, err
	}
	if !strings.Contains(path, `\x`) {
		return []string{path}, nil
	}
	r, err := m.Reader(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	c, err := r.commit(ctx, string(commit))
	if err != nil {
		return nil, err
	}
	if _, raw, err := r.Find(ctx, c.Tree, path); err == nil {
		path = raw
	}
	return []string{path}, nil
}

// eachLogEntry calls fn with each entry, and with whether git could parse its author.
func eachLogEntry(r io.Reader, fn func(e LogEntry, parsed bool)) error {
	var fields [][]byte
	err := eachToken(r, maxLogField, func(token []byte) {
		if fields = append(fields, bytes.Clone(token)); len(fields) == logFields {
			fn(newLogEntry(fields), len(fields[3]) > 0 || string(fields[4]) != "%aN")
			fields = fields[:0]
		}
	})
	if err == nil && len(fields) > 0 {
		err = fmt.Errorf("%w: the log ends within a commit", ErrGit)
	}
	return err
}

func newLogEntry(f [][]byte) LogEntry {
	e := LogEntry{
		ID: code.CommitID(f[0]), Date: formatRawDate(string(f[2])), AuthorName: string(f[4]), AuthorEmail: string(f[5]),
		Refs: string(f[6]), Subject: string(f[7]), Body: string(f[8]), CommitDate: formatRawDate(string(f[9])),
	}
	for parent := range bytes.FieldsSeq(f[1]) {
		e.Parents = append(e.Parents, code.CommitID(parent))
	}
	return e
}

// eachToken calls fn with every NUL-terminated token of r, cut to max bytes. The token is
// valid until fn returns.
func eachToken(r io.Reader, max int, fn func([]byte)) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var token []byte
	for {
		part, err := in.ReadSlice(0)
		ended := err == nil
		if ended {
			part = part[:len(part)-1]
		}
		token = append(token, part[:min(len(part), max-len(token))]...)
		switch {
		case ended:
			fn(token)
			token = token[:0]
		case err == io.EOF && len(token) == 0:
			return nil
		case err != bufio.ErrBufferFull:
			return fmt.Errorf("%w: the output ends early: %w", ErrGit, err)
		}
	}
}

// Author is a person who wrote commits.
type Author struct {
	Name    string
	Email   string
	Commits int
}

// maxAuthorsOutput bounds the list of authors: some 500,000 of them.
const maxAuthorsOutput = 32 << 20

// Authors returns the authors of the commits of a history, with the mailmap applied,
// ordered by number of commits, largest first. It uses only Commit and Path of q.
func (m *Mirror) Authors(ctx context.Context, q LogQuery) ([]Author, error) {
	var authors []Author
	err := m.runLog(ctx, []string{"shortlog", "--summary", "--numbered", "--email"}, LogQuery{Commit: q.Commit, Path: q.Path}, func(r io.Reader) error {
		b, err := io.ReadAll(io.LimitReader(r, maxAuthorsOutput+1))
		if err == nil && len(b) > maxAuthorsOutput {
			err = fmt.Errorf("list of authors: %w", ErrTooLarge)
		}
		for line := range bytes.Lines(b) {
			a, ok := parseAuthor(string(bytes.TrimSuffix(line, []byte{'\n'})))
			if !ok && err == nil {
				err = fmt.Errorf("%w: unexpected line %.200q of shortlog", ErrGit, line)
			}
			authors = append(authors, a)
		}
		return err
	})
	return authors, err
}

// parseAuthor parses "   COUNT\tNAME <EMAIL>".
func parseAuthor(line string) (Author, bool) {
	count, who, ok := strings.Cut(line, "\t")
	n, err := strconv.Atoi(strings.TrimSpace(count))
	at := strings.LastIndex(who, "<")
	if !ok || err != nil || at < 0 {
		return Author{}, false
	}
	if who == "%aN <%aE>" {
		return Author{Commits: n}, true // authors that git cannot parse
	}
	return Author{Name: strings.TrimSuffix(who[:at], " "), Email: strings.TrimSuffix(who[at+1:], ">"), Commits: n}, true
}
