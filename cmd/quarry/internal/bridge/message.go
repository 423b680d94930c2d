package bridge

import (
	"encoding/json"
	"net/http"
)

// statelessSince is the first revision in which each request says its revision, in
// itself and in the headers.
const statelessSince = "2026-07-28"

// message is what has to be known of a message of JSON-RPC to carry it.
type message struct {
	raw    []byte
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// parseMessage parses a message; the server reports an invalid one.
func parseMessage(line []byte) message {
	m := message{}
	_ = json.Unmarshal(line, &m)
	m.raw = line
	return m
}

// isCall reports whether a response is expected: also to an unreadable message.
func (m *message) isCall() bool { return m.ID != nil || m.Method == "" }

// transportHeader returns what the transport over HTTP has in headers.
func (b *Bridge) transportHeader(m message) http.Header {
	var params struct {
		Name string `json:"name"`
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
	if m.Params != nil {
		_ = json.Unmarshal(m.Params, &params)
	}
	b.mu.Lock()
	version := b.mu.version
	b.mu.Unlock()
	if params.Meta.Version != "" {
		version = params.Meta.Version
	}
	h := http.Header{}
	if version != "" && m.Method != "initialize" {
		h.Set("Mcp-Protocol-Version", version)
	}
	if version >= statelessSince && m.Method != "" {
		h.Set("Mcp-Method", m.Method)
		if m.Method == "tools/call" {
			h.Set("Mcp-Name", params.Name)
		}
	}
	return h
}

// noteVersion notes the revision that was agreed on.
func (b *Bridge) noteVersion(m message, answer []byte) {
	if m.Method != "initialize" {
		return
	}
	var a struct {
		Result struct {
			Version string `json:"protocolVersion"`
		} `json:"result"`
	}
	if json.Unmarshal(answer, &a) == nil && a.Result.Version != "" {
		b.mu.Lock()
		b.mu.version = a.Result.Version
		b.mu.Unlock()
	}
}
