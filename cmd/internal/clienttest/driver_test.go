package clienttest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// driver is a process that makes calls with a generated client.
type driver struct {
	in     io.Writer
	out    *bufio.Reader
	stderr strings.Builder
}

// instruction is a line that a driver reads.
type instruction struct {
	Operation  string            `json:"operation"`
	Credential map[string]string `json:"credential,omitempty"`
	Path       []argument        `json:"path,omitempty"` // in the order of the path
	Parameters map[string]any    `json:"parameters"`     // query parameters
	Headers    map[string]any    `json:"headers"`        // parameters that are headers
	Body       any               `json:"body,omitempty"`
	Bytes      any               `json:"bytes,omitempty"` // a body that is not JSON, in base64
	Lax        bool              `json:"lax,omitempty"`
}

type argument struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

// understanding is a line that a driver writes: the client's result of a response.
type understanding struct {
	Status int    // 0 if the client does not report it
	Value  any    // JSON body
	Text   string // any other body
	Error  string // error of the client
}

func startDriver(t *testing.T, command *exec.Cmd) *driver {
	t.Helper()
	d := new(driver)
	command.Stderr = &d.stderr
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // ends the driver
		_ = command.Wait()
	})
	d.in, d.out = in, bufio.NewReader(out)
	return d
}

func (d *driver) sendInstruction(i *instruction) (*understanding, error) {
	line, err := json.Marshal(i)
	if err == nil {
		_, err = d.in.Write(append(line, '\n'))
	}
	if err == nil {
		line, err = d.out.ReadBytes('\n')
	}
	if err != nil {
		return nil, fmt.Errorf("the driver: %w\n%s", err, &d.stderr)
	}
	decoder := json.NewDecoder(strings.NewReader(string(line)))
	decoder.UseNumber()
	u := new(understanding)
	if err := decoder.Decode(u); err != nil {
		return nil, fmt.Errorf("the driver answers %q: %w", line, err)
	}
	if u.Error != "" {
		return u, fmt.Errorf("the client fails: %s", u.Error)
	}
	return u, nil
}
