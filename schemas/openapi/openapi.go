package openapi

import (
	"bytes"
	_ "embed" // for the document
	"encoding/json"
	"fmt"
	"sync"

	"github.com/goccy/go-yaml"
)

//go:embed quarry.yaml
var source []byte

// Load returns the completed document. It is read once and shared; callers must not
// modify it.
var Load = sync.OnceValues(func() (*Document, error) {
	b, err := yaml.YAMLToJSON(source)
	if err != nil {
		return nil, fmt.Errorf("quarry.yaml: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	document := new(Document)
	if err := d.Decode(document); err != nil {
		return nil, fmt.Errorf("quarry.yaml: %w", err)
	}
	if err := document.completeOperations(); err != nil {
		return nil, fmt.Errorf("quarry.yaml: %w", err)
	}
	return document, nil
})

// JSON returns d in JSON, OpenAPI 3.0.3.
func (d *Document) JSON() ([]byte, error) { return encode(d) }
