package meaning

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
)

// lines is a program that is queried line by line with tab-separated PATH, LINE and
// COLUMN. It answers with PATH and LINE, or with an empty line.
type lines struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
}

// OpenLines starts such a program. The tree is its last argument.
func OpenLines(ctx context.Context, command []string, dir string) (Oracle, error) {
	l := &lines{command: exec.CommandContext(ctx, command[0], append(command[1:len(command):len(command)], dir)...)}
	var err error
	if l.in, err = l.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := l.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	l.out = bufio.NewScanner(out)
	return l, l.command.Start()
}

// Define implements Oracle.
func (l *lines) Define(_ context.Context, _ []byte, p Place) ([]Place, error) {
	if _, err := fmt.Fprintf(l.in, "%s\t%d\t%d\n", p.Path, p.Line, p.Column); err != nil {
		return nil, err
	}
	if !l.out.Scan() {
		return nil, errors.Join(errors.New("the program ended"), l.out.Err())
	}
	path, number, ok := strings.Cut(l.out.Text(), "\t")
	if !ok {
		return nil, nil
	}
	line, err := strconv.Atoi(number)
	return []Place{{Path: path, Line: line}}, err
}

// Close implements Oracle.
func (l *lines) Close() error {
	return errors.Join(l.in.Close(), l.command.Wait())
}
