package image

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"strings"
)

// A Component is one module or package in a bill of materials (CycloneDX 1.5).
type Component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl,omitempty"`
	Hashes  []Hash `json:"hashes,omitempty"`
}

// A Hash is a checksum of a component.
type Hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// LinkedModules returns the modules that are linked into a binary, as recorded in it.
func LinkedModules(binary string) ([]Component, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	toolchain := strings.TrimPrefix(info.GoVersion, "go")
	components := []Component{{Type: "library", Name: "std", Version: toolchain, PURL: "pkg:golang/std@" + toolchain}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		components = append(components, Component{Type: "library", Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version})
	}
	return components, nil
}

// EncodeBOM returns the bill of materials of a version of Quarry.
func EncodeBOM(version string, components []Component) ([]byte, error) {
	text, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata":   map[string]any{"component": Component{Type: "application", Name: "quarry", Version: version}},
		"components": components,
	}, "", "  ")
	return append(text, '\n'), err
}

// WriteBOM writes the bill of materials of a binary.
func WriteBOM(binary, version, out string) error {
	components, err := LinkedModules(binary)
	if err != nil {
		return err
	}
	text, err := EncodeBOM(version, components)
	if err != nil {
		return err
	}
	return os.WriteFile(out, text, 0o644)
}
