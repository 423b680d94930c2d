package bridge

import (
	"encoding/json"
	"net/http"
)

// statelessSince is the first protocol revision in which each request names its revision,
// both in the message and in the headers.
const statelessSince = "2026-07-28"

// message holds the members of a JSON-RPC message that are needed to relay it.
type message struct {
	raw    []byte
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// parseMessage parses a message. It ignores errors, because the server reports an invalid
// message.
func parseMessage(line []byte) message {
	m := message{}
	_ = json.Unmarshal(line, &m)
	m.raw = line
	return m
}

// isCall reports whether the client expects a response. An unreadable message counts as a
// call.
func (m *message) isCall() bool { return m.ID != nil || m.Method == "" }

// transportHeader returns the headers that the HTTP transport requires for a message.
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

// noteVersion records the negotiated revision.
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
