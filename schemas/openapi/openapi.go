package openapi

import (
	"bytes"
	_ "embed" // for the document
	"encoding/json"
	"fmt"
	"sync"
)

// source is quarry.yaml in JSON, which every server reads when it starts: the file itself
// takes ten times as long.
//
//go:embed quarry.gen.json
var source []byte

// Load returns the completed document. It is read once and shared; callers must not
// modify it.
var Load = sync.OnceValues(func() (*Document, error) { return Read(source) })

// Read returns the document of quarry.yaml, converted to JSON, and completes it. It fails
// for a keyword that Document does not have.
func Read(source []byte) (*Document, error) {
	d := json.NewDecoder(bytes.NewReader(source))
	d.DisallowUnknownFields()
	document := new(Document)
	if err := d.Decode(document); err != nil {
		return nil, fmt.Errorf("quarry.yaml: %w", err)
	}
	if err := document.completeOperations(); err != nil {
		return nil, fmt.Errorf("quarry.yaml: %w", err)
	}
	return document, nil
}

// JSON returns d in JSON, OpenAPI 3.0.3.
func (d *Document) JSON() ([]byte, error) { return encode(d) }
