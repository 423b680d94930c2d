package mirror

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/quarrysearch/quarry/schemas/code"
)

// maxTreeLine bounds one entry of a listing, because git does not bound the length of a
// path.
const maxTreeLine = 1 << 20

// ListTree calls fn for every file of a commit, ordered by path (by bytes). The entry
// includes its size, which is -1 for a missing object or a submodule.
func (m *Mirror) ListTree(ctx context.Context, commit code.CommitID, fn func(path string, e Entry) error) error {
	return m.listFiles(ctx, commit, parseTreeEntry, fn, "-l")
}

// listFiles runs ls-tree with these flags, parses its lines with parse, and calls fn for
// every file of a commit.
func (m *Mirror) listFiles(ctx context.Context, commit code.CommitID, parse func(line []byte) (string, Entry, error), fn func(path string, e Entry) error, flags ...string) error {
	if err := validateCommit(commit); err != nil {
		return m.wrapError("list", err)
	}
	args := append([]string{"ls-tree", "-r", "-z"}, flags...)
	args = append(args, "--full-tree", "--end-of-options", string(commit))
	err := m.ms.git.streamOutput(ctx, command{gitDir: m.gitDir(), args: args}, func(r io.Reader) error {
		return eachRecord(r, func(line []byte) error {
			path, e, err := parse(line)
			if err != nil {
				return err
			}
			return fn(path, e)
		})
	})
	if err != nil {
		return fmt.Errorf("list %s of repository %s: %w", commit, m.id, err)
	}
	return nil
}

// eachRecord calls fn for every NUL-terminated record of r. The record is valid until fn
// returns.
func eachRecord(r io.Reader, fn func([]byte) error) error {
	in := bufio.NewReaderSize(r, maxTreeLine)
	for {
		record, err := in.ReadSlice(0)
		switch {
		case err == io.EOF && len(record) == 0:
			return nil
		case err == bufio.ErrBufferFull:
			return fmt.Errorf("a path of more than %d bytes: %w", maxTreeLine, ErrTooLarge)
		case err != nil:
			return fmt.Errorf("%w: the listing ends early: %w", ErrGit, err)
		}
		if err := fn(record[:len(record)-1]); err != nil {
			return err
		}
	}
}

// parseTreeEntry parses "MODE TYPE NAME SIZE\tPATH".
func parseTreeEntry(line []byte) (string, Entry, error) {
	meta, path, ok := bytes.Cut(line, []byte{'\t'})
	fields := bytes.Fields(meta)
	if !ok || len(fields) != 4 {
		return "", Entry{}, fmt.Errorf("%w: unexpected tree entry %.200q", ErrGit, line)
	}
	mode, err := parseMode(fields[0])
	if err != nil {
		return "", Entry{}, err
	}
	id, err := ParseObjectID(fields[2])
	if err != nil {
		return "", Entry{}, fmt.Errorf("%w: %w", ErrGit, err)
	}
	size, err := strconv.ParseInt(string(fields[3]), 10, 64)
	if err != nil || size < 0 {
		size = -1 // "-" for a submodule, "BAD" for an object that cannot be read
	}
	return string(path), Entry{Mode: mode, ID: id, Size: size}, nil
}

func parseDiffSide(mode, name []byte) (Entry, error) {
	m, err := parseMode(mode)
	if err != nil || m == 0 {
		return Entry{}, err
	}
	id, err := ParseObjectID(name)
	if err != nil {
		return Entry{}, fmt.Errorf("%w: %w", ErrGit, err)
	}
	return Entry{Mode: m, ID: id, Size: -1}, nil
}

func parseMode(b []byte) (Mode, error) {
	n, err := strconv.ParseUint(string(b), 8, 32)
	if err != nil {
		return 0, fmt.Errorf("%w: unexpected mode %.20q", ErrGit, b)
	}
	return Mode(n), nil
}
