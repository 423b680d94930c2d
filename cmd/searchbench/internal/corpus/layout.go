package corpus

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// GitPath is the bare repository of name under the output directory.
func GitPath(out, name string) string { return filepath.Join(out, "git", name+".git") }

// TreePath is the checkout of name.
func TreePath(out, name string) string { return filepath.Join(out, "tree", name) }

// PushPath is the repository that holds name's prepared commits.
func PushPath(out, name string) string { return filepath.Join(out, "pushes", name+".git") }

func manifestPath(out string) string { return filepath.Join(out, "corpora.json") }

// ReadManifest says what an earlier Build left in out. The error wraps os.ErrNotExist when there was none.
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
