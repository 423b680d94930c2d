package ctags

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Bounds of the output for one file and of the start of a process.
const (
	maxOutputBytes = 32 << 20
	maxLineBytes   = 16 << 10
	startTimeout   = 10 * time.Second
)

// process is a running ctags.
type process struct {
	cmd   *exec.Cmd
	input io.WriteCloser
	out   *bufio.Reader
}

// tag is a line of output: a definition or, by Type, another message.
type tag struct {
	Type      string `json:"_type"`
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Scope     string `json:"scope"`
	ScopeKind string `json:"scopeKind"`
	Line      uint32 `json:"line"`
	End       uint32 `json:"end"`
	Message   string `json:"message"`
}

// newCommand returns a ctags command that reads no option files and does not inherit the
// environment.
func newCommand(program, directory string, arguments ...string) *exec.Cmd {
	cmd := exec.Command(program, append([]string{"--options=NONE"}, arguments...)...)
	cmd.Dir, cmd.Env = directory, []string{"PATH=/usr/bin:/bin"}
	return cmd
}

// startProcess starts a process and waits for its greeting.
func startProcess(program, directory string, languages languageSet) (*process, error) {
	arguments := []string{
		"--_interactive=sandbox", "--output-format=json",
		"--fields=", "--fields=+{name}{line}{end}{kind}{scope}{scopeKind}", "--fields=+KZ",
	}
	cmd := newCommand(program, directory, append(arguments, languages.mapArguments()...)...)
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, input.Close())
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, input: input, out: bufio.NewReaderSize(output, maxLineBytes)}
	greet := func() error {
		if err := limitProcess(cmd.Process.Pid); err != nil {
			return err
		}
		t, _, err := p.readLine()
		if err == nil && (t == nil || t.Type != "program") {
			err = errors.New("no greeting")
		}
		return err
	}
	if err := p.runBounded(startTimeout, greet); err != nil {
		p.kill()
		return nil, fmt.Errorf("%s %s: %w", program, strings.Join(arguments, " "), err)
	}
	return p, nil
}

// runBounded calls f. If f takes longer than timeout, runBounded kills the process, which
// makes f fail, and returns ErrTimeout.
func (p *process) runBounded(timeout time.Duration, f func() error) error {
	timer := time.AfterFunc(timeout, func() { _ = p.cmd.Process.Kill() })
	err := f()
	if !timer.Stop() {
		return ErrTimeout
	}
	return err
}

// kill ends the process if it is still running and releases its resources.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have exited
	_ = p.cmd.Wait()         // closes the pipes; the error only reports the kill
}

// readTags sends a file and returns its tags. After an error, it may still return some tags,
// and the process must not be used again.
func (p *process) readTags(name string, text []byte, timeout time.Duration) (tags []tag, err error) {
	err = p.runBounded(timeout, func() error {
		if err := p.sendFile(name, text); err != nil {
			return err
		}
		tags, err = p.receiveTags()
		return err
	})
	return tags, err
}

// sendFile writes a request. ctags reads the whole request before it answers.
func (p *process) sendFile(name string, text []byte) error {
	request, err := json.Marshal(map[string]any{"command": "generate-tags", "filename": name, "size": len(text)})
	if err != nil {
		return err
	}
	if _, err := p.input.Write(append(request, '\n')); err != nil {
		return err
	}
	_, err = p.input.Write(text)
	return err
}

// receiveTags reads the answer to a request.
func (p *process) receiveTags() (tags []tag, err error) {
	for total := 0; ; {
		t, n, err := p.readLine()
		if err != nil {
			return tags, err
		}
		if total += n; total > maxOutputBytes {
			return tags, ErrLimit
		}
		switch {
		case t == nil || t.Type == "tag" && (t.Name == "" || len(t.Name) > code.MaxSymbolBytes):
		case t.Type == "tag":
			if len(tags) == code.MaxSymbolsPerDocument {
				return tags, ErrLimit
			}
			tags = append(tags, *t)
		case t.Type == "completed":
			return tags, nil
		case t.Type == "error":
			return nil, fmt.Errorf("ctags reports %.200q", t.Message)
		}
	}
}

// readLine reads a line of output and returns it with its length. It returns nil for a line
// that is too long, which can only be an unusable tag.
func (p *process) readLine() (*tag, int, error) {
	line, err := p.out.ReadSlice('\n')
	n := len(line)
	if errors.Is(err, bufio.ErrBufferFull) {
		for errors.Is(err, bufio.ErrBufferFull) && n <= maxOutputBytes {
			line, err = p.out.ReadSlice('\n')
			n += len(line)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			err = ErrLimit
		}
		return nil, n, err
	}
	if err != nil {
		return nil, n, err
	}
	t := &tag{}
	if err := json.Unmarshal(line, t); err != nil {
		return nil, n, fmt.Errorf("output is not JSON: %w", err)
	}
	return t, n, nil
}
