package main

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/image"
)

// releaseVersion matches a valid version of a release.
var releaseVersion = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$`)

// noticesFile contains the licenses of all modules that are linked into the binary.
const noticesFile = "deploy/third-party-notices.txt"

// platforms are the platforms of releases; each may link different modules.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

// releasedFiles are in every archive, together with the binary.
var releasedFiles = []string{"LICENSE", "README.md", "CHANGELOG.md", noticesFile}

type releaseTask struct {
	Version string `required:"" help:"Version, such as v0.2.0; CHANGELOG.md must have a section of it."`
	Out     string `default:".cache/release" help:"Directory of the archives; it is replaced."`
	NoTag   bool   `help:"Do not tag the commit."`
}

// Run implements the task. Two runs at one commit write the same bytes: the binaries
// contain no path of this machine, and files in the archives have the time of the commit.
func (r *releaseTask) Run(ctx context.Context) error {
	when, err := r.checkTree(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(r.Out), os.MkdirAll(r.Out, 0o755)); err != nil {
		return err
	}
	var sums strings.Builder
	for _, platform := range platforms {
		names, err := r.releasePlatform(ctx, platform, when)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(r.Out, name))
			if err != nil {
				return err
			}
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), name)
		}
	}
	if err := os.WriteFile(filepath.Join(r.Out, "SHA256SUMS"), []byte(sums.String()), 0o644); err != nil {
		return err
	}
	fmt.Print(sums.String())
	if r.NoTag {
		return nil
	}
	_, err = runOutput(ctx, ".", "git", "tag", "-a", "-m", "Quarry "+r.Version, r.Version)
	return err
}

// checkTree returns the time of the commit. It returns an error if the tree cannot be
// released.
func (r *releaseTask) checkTree(ctx context.Context) (time.Time, error) {
	if !releaseVersion.MatchString(r.Version) {
		return time.Time{}, fmt.Errorf("%q is no version of a release; write v1.2.3", r.Version)
	}
	changes, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return time.Time{}, err
	}
	if !strings.Contains(string(changes), "\n## "+strings.TrimPrefix(r.Version, "v")+" ") {
		return time.Time{}, fmt.Errorf("CHANGELOG.md has no section %s; name the unreleased changes so", strings.TrimPrefix(r.Version, "v"))
	}
	status, err := runOutput(ctx, ".", "git", "status", "--porcelain")
	if err != nil {
		return time.Time{}, err
	}
	if status != "" {
		return time.Time{}, fmt.Errorf("the tree has changes that are not committed:\n%s", status)
	}
	seconds, err := runOutput(ctx, ".", "git", "log", "-1", "--format=%ct")
	if err != nil {
		return time.Time{}, err
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	return time.Unix(n, 0).UTC(), err
}

// releasePlatform writes an archive and the list of modules in the binary, and returns
// their names.
func (r *releaseTask) releasePlatform(ctx context.Context, platform string, when time.Time) ([]string, error) {
	system, processor, _ := strings.Cut(platform, "/")
	name := fmt.Sprintf("quarry-%s-%s-%s", strings.TrimPrefix(r.Version, "v"), system, processor)
	binary := filepath.Join(r.Out, name, "quarry")
	if err := buildStatic(ctx, platform, r.Version, binary); err != nil {
		return nil, err
	}
	if err := image.WriteBOM(binary, r.Version, filepath.Join(r.Out, name+".cdx.json")); err != nil {
		return nil, err
	}
	if err := packRelease(filepath.Join(r.Out, name+".tar.gz"), name, binary, when); err != nil {
		return nil, err
	}
	return []string{name + ".tar.gz", name + ".cdx.json"}, os.RemoveAll(filepath.Dir(binary))
}

// buildStatic builds the binary of a version for a platform. It links no library of C, so
// it runs on every Linux, and its bytes depend only on the source and the version.
func buildStatic(ctx context.Context, platform, version, out string) error {
	system, processor, _ := strings.Cut(platform, "/")
	build := newCommand(ctx, ".", "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -buildid= -X github.com/quarrysearch/quarry/cmd/internal/boot.release="+version, "-o", out, "./cmd/quarry")
	build.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0")
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	return nil
}

// packRelease writes an archive whose bytes depend only on the contents and the time.
func packRelease(out, folder, binary string, when time.Time) error {
	return writeArchive(out, func(w *tar.Writer) error {
		for _, path := range append([]string{binary}, releasedFiles...) {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			mode := int64(0o644)
			if path == binary {
				mode = 0o755
			}
			if err := packFile(w, &tar.Header{Name: folder + "/" + filepath.Base(path), Mode: mode, ModTime: when}, text); err != nil {
				return err
			}
		}
		return nil
	})
}
