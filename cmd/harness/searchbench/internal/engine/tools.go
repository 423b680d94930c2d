package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
)

// CallTool calls a tool for AI agents and returns the text of its result.
func (s *QuarryServer) CallTool(ctx context.Context, tool string, arguments map[string]any) (string, error) {
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": arguments},
	})
	if err != nil {
		return "", err
	}
	header := jsonHeader()
	header.Set("Accept", "application/json, text/event-stream")
	data, _, err := roundTrip(ctx, s.client, http.MethodPost, s.url+"/api/mcp", header, body)
	if err != nil {
		return "", err
	}
	var reply struct {
		Result struct {
			Content []struct{ Text string }
		}
		Error struct{ Message string }
	}
	if err := json.Unmarshal(data, &reply); err != nil {
		return "", fmt.Errorf("quarry: decode answer of %s: %w: %.200s", tool, err, data)
	}
	if reply.Error.Message != "" {
		return "", fmt.Errorf("quarry: %s: %s", tool, reply.Error.Message)
	}
	var text strings.Builder
	for _, c := range reply.Result.Content {
		text.WriteString(c.Text)
	}
	return text.String(), nil
}

// Command runs a command of the binary against the server. It returns its standard
// output, followed by its notices. The exit status for no match is not an error.
func (s *QuarryServer) Command(ctx context.Context, arguments ...string) (string, error) {
	name, rest := arguments[0], arguments[1:]
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, s.quarry.Path, append(append([]string{name}, s.Flags()...), rest...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		err = nil
	}
	if err != nil {
		return "", fmt.Errorf("quarry %s: %w: %.300s", name, err, stderr.String())
	}
	return stdout.String() + stderr.String(), nil
}
