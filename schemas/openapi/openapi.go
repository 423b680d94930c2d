package openapi

import (
	_ "embed" // for the document
	"fmt"

	"github.com/goccy/go-yaml"
)

//go:embed quarry.yaml
var document []byte

// JSON returns the document in JSON, OpenAPI 3.0.3.
func JSON() ([]byte, error) {
	b, err := yaml.YAMLToJSON(document)
	if err != nil {
		return nil, fmt.Errorf("quarry.yaml: %w", err)
	}
	return b, nil
}
