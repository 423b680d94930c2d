package corpus

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// fetcher writes the files of one package to dest, which does not exist yet. name and
// version are both empty for FromGoRoot. cache is a separate folder that is kept between
// runs. fetcher returns the version that was actually served.
type fetcher func(ctx context.Context, name, version, cache, dest string) (string, error)

var fetchers = map[Origin]fetcher{
	FromGoRoot:       fetchGoRoot,
	FromGoModule:     fetchGoModule,
	FromNPM:          fetchNPM,
	FromPyPI:         fetchPyPI,
	FromCrates:       fetchCrate,
	FromMaven:        fetchMaven,
	FromDebianSource: fetchDebianSource,
	FromDebianBinary: fetchDebianBinary,
}

func fetchGoRoot(ctx context.Context, _, _, _, dest string) (string, error) {
	root, err := command{args: []string{"go", "env", "GOROOT", "GOVERSION"}}.captureOutput(ctx)
	if err != nil {
		return "", err
	}
	lines := strings.Fields(string(root))
	if len(lines) != 2 {
		return "", fmt.Errorf("go env GOROOT GOVERSION: unexpected answer %q", root)
	}
	return lines[1], copyTree(filepath.Join(lines[0], "src"), dest)
}

// fetchGoModule runs outside of any module, because go mod download accepts
// MODULE@VERSION anywhere.
func fetchGoModule(ctx context.Context, name, version, cache, dest string) (string, error) {
	out, err := command{
		dir: cache, env: []string{"GOFLAGS=-mod=mod", "GOWORK=off"},
		args: []string{"go", "mod", "download", "-json", name + "@" + version},
	}.captureOutput(ctx)
	if err != nil {
		return "", err
	}
	var module struct{ Dir, Version, Error string }
	if err := json.Unmarshal(out, &module); err != nil {
		return "", fmt.Errorf("go mod download %s@%s: decode answer: %w", name, version, err)
	}
	if module.Error != "" || module.Dir == "" {
		return "", fmt.Errorf("go mod download %s@%s: %s", name, version, module.Error)
	}
	return module.Version, copyTree(module.Dir, dest)
}

func fetchNPM(ctx context.Context, name, version, cache, dest string) (string, error) {
	archive, err := downloadOnce(cache, "*.tgz", func(dir string) error {
		return command{dir: dir, args: []string{"npm", "pack", "--silent", "--ignore-scripts", name + "@" + version}}.run(ctx)
	})
	if err != nil {
		return "", err
	}
	return version, unpackTar(ctx, archive, dest)
}

// fetchPyPI downloads the source distribution. pip prepares the package's metadata before
// it keeps the file, which needs a compiler for packages with a native build, so the list
// contains only packages without one. Only NAME is requested without wheels: its build
// tools may be wheels.
func fetchPyPI(ctx context.Context, name, version, cache, dest string) (string, error) {
	archive, err := downloadOnce(cache, "*.tar.gz", func(dir string) error {
		return command{dir: dir, args: []string{
			"pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", name, "--dest", dir, name + "==" + version,
		}}.run(ctx)
	})
	if err != nil {
		return "", err
	}
	return version, unpackTar(ctx, archive, dest)
}

// fetchCrate creates a scratch package with one exact dependency and uses cargo to find
// where it was unpacked.
func fetchCrate(ctx context.Context, name, version, cache, dest string) (string, error) {
	manifest := fmt.Sprintf("[package]\nname = \"scratch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[dependencies]\nwanted = { package = %q, version = \"=%s\" }\n", name, version)
	if err := os.MkdirAll(filepath.Join(cache, "src"), 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(cache, "Cargo.toml"), []byte(manifest), 0o644); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(cache, "src", "lib.rs"), nil, 0o644); err != nil {
		return "", err
	}
	out, err := command{dir: cache, args: []string{"cargo", "metadata", "--quiet", "--format-version", "1"}}.captureOutput(ctx)
	if err != nil {
		return "", err
	}
	var metadata struct {
		Packages []struct {
			Name, Version string
			ManifestPath  string `json:"manifest_path"`
		}
	}
	if err := json.Unmarshal(out, &metadata); err != nil {
		return "", fmt.Errorf("cargo metadata for %s %s: decode answer: %w", name, version, err)
	}
	for _, p := range metadata.Packages {
		if p.Name == name && p.Version == version {
			return version, copyTree(filepath.Dir(p.ManifestPath), dest)
		}
	}
	return "", fmt.Errorf("cargo metadata for %s %s: the package is not in the answer", name, version)
}

func fetchMaven(ctx context.Context, name, version, cache, dest string) (string, error) {
	archive, err := downloadOnce(cache, "*.jar", func(dir string) error {
		return command{dir: dir, args: []string{
			"mvn", "--quiet", "--batch-mode", "dependency:copy", "-Dartifact=" + name + ":" + version + ":jar:sources", "-DoutputDirectory=" + dir,
		}}.run(ctx)
	})
	if err != nil {
		return "", err
	}
	return version, unpackZip(archive, dest)
}

// downloadOnce runs download in a fresh folder and moves the one file that matches
// pattern to cache. If such a file already exists there, it is used.
func downloadOnce(cache, pattern string, download func(dir string) error) (string, error) {
	if found, err := filepath.Glob(filepath.Join(cache, pattern)); err == nil && len(found) == 1 {
		return found[0], nil
	}
	dir, err := os.MkdirTemp(cache, "download-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := download(dir); err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("download: want one file %s, got %d", pattern, len(found))
	}
	kept := filepath.Join(cache, filepath.Base(found[0]))
	return kept, os.Rename(found[0], kept)
}
