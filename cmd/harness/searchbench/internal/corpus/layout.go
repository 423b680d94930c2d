package corpus

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// GitPath returns the path of the bare repository name in the output directory.
func GitPath(out, name string) string { return filepath.Join(out, "git", name+".git") }

// TreePath returns the path of the checkout of name.
func TreePath(out, name string) string { return filepath.Join(out, "tree", name) }

// PushPath returns the path of the repository with name's prepared commits.
func PushPath(out, name string) string { return filepath.Join(out, "pushes", name+".git") }

func manifestPath(out string) string { return filepath.Join(out, "corpora.json") }

// ReadManifest returns the manifest that an earlier Build left in out. The error wraps
// os.ErrNotExist if there is none.
func ReadManifest(out string) (Manifest, error) {
	data, err := os.ReadFile(manifestPath(out))
	if err != nil {
		return Manifest{}, fmt.Errorf("read what corpora are built: %w (build them with: searchbench corpora --out %s)", err, out)
	}
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return Manifest{}, fmt.Errorf("read what corpora are built: %s: %w", manifestPath(out), err)
	}
	return m, nil
}
