package meaning

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Oracle knows the meanings of names.
type Oracle interface {
	// Define returns the places in the tree where the name at a place is defined. text is
	// the content of the file.
	Define(ctx context.Context, text []byte, p Place) ([]Place, error)
	// Close stops the oracle.
	Close() error
}

// These are the bounds of a language server.
const (
	maxMessageBytes = 64 << 20
	answerTimeout   = 3 * time.Minute // the first answer requires reading the whole tree
	// A server that reports progress is queried once it has ended all work and has been
	// quiet for quietTime.
	maxIdleWait = 20 * time.Minute
	quietTime   = 5 * time.Second
)

// server is a language server.
type server struct {
	dir      string
	language string
	command  *exec.Cmd
	in       io.WriteCloser
	answers  chan message
	number   int
	opened   map[string]bool
	// working holds the tokens of work that the server has begun and not ended.
	working map[string]bool
}

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
	failure error
}

// OpenServer starts a language server for a tree.
func OpenServer(ctx context.Context, command []string, dir, language string) (Oracle, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, language: language, answers: make(chan message, 64), opened: map[string]bool{}, working: map[string]bool{}}
	s.command = exec.CommandContext(ctx, command[0], command[1:]...)
	s.command.Dir = dir
	if s.in, err = s.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	go s.readAnswers(bufio.NewReader(out))
	root := fileURL(dir)
	_, err = s.call(ctx, "initialize", map[string]any{
		"initializationOptions": map[string]any{"tsserver": map[string]any{"useSyntaxServer": "never"}}, // other servers ignore it
		"processId":             nil, "rootUri": root,
		"workspaceFolders": []any{map[string]any{"uri": root, "name": "tree"}},
		"capabilities":     map[string]any{"window": map[string]any{"workDoneProgress": true}, "workspace": map[string]any{"configuration": true, "workspaceFolders": true}, "textDocument": map[string]any{"definition": map[string]any{"linkSupport": false}}},
	})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, s.send(message{Method: "initialized", Params: json.RawMessage("{}")})
}

func fileURL(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

// Close implements Oracle.
func (s *server) Close() error {
	err := s.in.Close()
	_ = s.command.Process.Kill()
	_ = s.command.Wait() // the server was killed
	return err
}

func (s *server) send(m message) error {
	body, err := json.Marshal(struct {
		Version string `json:"jsonrpc"`
		message
	}{"2.0", m})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.in, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return err
}

// readAnswers passes on the responses until the server ends.
func (s *server) readAnswers(r *bufio.Reader) {
	defer close(s.answers)
	for {
		m, err := readMessage(r)
		if m.failure = err; err != nil {
			s.answers <- m
			return
		}
		s.answers <- m
	}
}

func readMessage(r *bufio.Reader) (m message, err error) {
	length := 0
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return m, err
		}
		line = strings.TrimSpace(line)
		if line == "" {
			break
		}
		if value, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			if length, err = strconv.Atoi(value); err != nil || length < 0 || length > maxMessageBytes {
				return m, fmt.Errorf("length %q of a message", value)
			}
		}
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(r, body); err != nil {
		return m, err
	}
	return m, json.Unmarshal(body, &m)
}

// call sends a request and waits for the response. It answers requests of the server in
// the meantime with empty responses.
func (s *server) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	data, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	s.number++
	id := strconv.Itoa(s.number)
	if err := s.send(message{ID: json.RawMessage(id), Method: method, Params: data}); err != nil {
		return nil, err
	}
	timeout := time.NewTimer(answerTimeout)
	defer timeout.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timeout.C:
			return nil, fmt.Errorf("%s: no answer within %s", method, answerTimeout)
		case m := <-s.answers:
			if err := s.serve(&m); err != nil {
				return nil, err
			}
			switch {
			case m.Method != "" || string(m.ID) != id:
			case m.Error != nil:
				return nil, nil // the server does not know
			default:
				return m.Result, nil
			}
		}
	}
}

// serve handles a message of the server that is not a response: it answers a request with
// an empty response, and records progress reports.
func (s *server) serve(m *message) error {
	switch {
	case m.failure != nil:
		return m.failure
	case m.Method != "" && m.ID != nil:
		return s.send(message{ID: m.ID, Result: answerTo(m)})
	case m.Method == "$/progress":
		var p struct {
			Token json.RawMessage
			Value struct{ Kind string }
		}
		if json.Unmarshal(m.Params, &p) == nil {
			switch p.Value.Kind {
			case "begin":
				s.working[string(p.Token)] = true
			case "end":
				delete(s.working, string(p.Token))
			}
		}
	}
	return nil
}

// waitIdle waits until the server has read the tree, if it reports progress.
func (s *server) waitIdle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, maxIdleWait)
	defer cancel()
	quiet := time.NewTimer(quietTime)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until the language server is idle: %w", ctx.Err())
		case <-quiet.C:
			if len(s.working) == 0 {
				return nil
			}
		case m := <-s.answers:
			if err := s.serve(&m); err != nil {
				return err
			}
		}
		quiet.Reset(quietTime)
	}
}

// answerTo returns the response to a request of the server, in which no setting has a
// value.
func answerTo(m *message) json.RawMessage {
	var p struct{ Items []json.RawMessage }
	if m.Method == "workspace/configuration" && json.Unmarshal(m.Params, &p) == nil {
		return json.RawMessage("[" + strings.TrimSuffix(strings.Repeat("null,", len(p.Items)), ",") + "]")
	}
	return json.RawMessage("null")
}

// Define implements Oracle.
func (s *server) Define(ctx context.Context, text []byte, p Place) ([]Place, error) {
	uri := fileURL(filepath.Join(s.dir, filepath.FromSlash(p.Path)))
	if !s.opened[p.Path] {
		s.opened[p.Path] = true
		params, err := json.Marshal(map[string]any{"textDocument": map[string]any{"uri": uri, "languageId": strings.ToLower(s.language), "version": 1, "text": string(text)}})
		if err != nil {
			return nil, err
		}
		if err := s.send(message{Method: "textDocument/didOpen", Params: params}); err != nil {
			return nil, err
		}
		if len(s.opened) == 1 {
			if err := s.waitIdle(ctx); err != nil {
				return nil, err
			}
		}
	}
	data, err := s.call(ctx, "textDocument/definition", map[string]any{
		"textDocument": map[string]any{"uri": uri}, "position": map[string]any{"line": p.Line - 1, "character": utf16Column(text, p)},
	})
	if err != nil {
		return nil, err
	}
	return s.placesOf(data), nil
}

// placesOf decodes a Location, or a list of them.
func (s *server) placesOf(data json.RawMessage) (out []Place) {
	type location struct {
		URI   string `json:"uri"`
		Range struct {
			Start struct{ Line int } `json:"start"`
		} `json:"range"`
	}
	var all []location
	if json.Unmarshal(data, &all) != nil {
		var one location
		if json.Unmarshal(data, &one) != nil {
			return nil
		}
		all = []location{one}
	}
	for _, l := range all {
		u, err := url.Parse(l.URI)
		if err != nil || u.Scheme != "file" {
			continue
		}
		if rel, err := filepath.Rel(s.dir, u.Path); err == nil && !strings.HasPrefix(rel, "..") {
			out = append(out, Place{Path: filepath.ToSlash(rel), Line: l.Range.Start.Line + 1})
		}
	}
	return out
}
