package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/image"
)

type imageTask struct {
	Version      string   `help:"Version, such as v0.2.0. Empty: derived from the commit."`
	Out          string   `default:".cache/image" help:"Directory of the packages, the binaries and the image."`
	Arch         []string `default:"amd64,arm64" help:"Processors."`
	OnlyPackages bool     `help:"Fetch the packages, and build nothing."`
}

// Run implements the task. Two runs at one commit with the same packages write the same
// bytes.
func (i *imageTask) Run(ctx context.Context) error {
	tree, err := describeTree(ctx, i.Version)
	if err != nil {
		return err
	}
	options := image.Options{Version: tree.version, Revision: tree.revision, Created: tree.committed, Documents: []string{"LICENSE", noticesFile}}
	for _, arch := range i.Arch {
		dir := filepath.Join(i.Out, "packages", arch)
		if err := image.FetchPackages(ctx, dir, arch); err != nil {
			return err
		}
		if i.OnlyPackages {
			continue
		}
		packages, err := image.ReadPackages(dir)
		if err != nil {
			return err
		}
		binary := filepath.Join(i.Out, "quarry-"+arch)
		if err := buildStatic(ctx, "linux/"+arch, tree.version, binary); err != nil {
			return err
		}
		options.Platforms = append(options.Platforms, image.Platform{Arch: arch, Binary: binary, Packages: packages})
	}
	if i.OnlyPackages {
		return nil
	}
	layout, archive := filepath.Join(i.Out, "layout"), filepath.Join(i.Out, "quarry.oci.tar")
	digest, err := image.Write(ctx, layout, options)
	if err != nil {
		return err
	}
	if err := image.WriteArchive(layout, archive, tree.committed); err != nil {
		return err
	}
	info, err := os.Stat(archive)
	if err != nil {
		return err
	}
	fmt.Printf("%s  %s\n%s, %d MB, version %s: docker load, podman load or skopeo copy oci-archive:%[3]s\n", digest, layout, archive, info.Size()>>20, tree.version)
	return nil
}

// treeState identifies what is built.
type treeState struct {
	version, revision string
	committed         time.Time
}

// describeTree returns the commit of the checkout. Without a version, it is that of the tag
// at the commit or else a pseudo-version of Go, as quarry version prints it, with the suffix
// -dirty if the tree has changes.
func describeTree(ctx context.Context, version string) (treeState, error) {
	revision, err := runOutput(ctx, ".", "git", "rev-parse", "HEAD")
	if err != nil {
		return treeState{}, err
	}
	seconds, err := runOutput(ctx, ".", "git", "log", "-1", "--format=%ct")
	if err != nil {
		return treeState{}, err
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return treeState{}, fmt.Errorf("time of the commit: %w", err)
	}
	tree := treeState{version: version, revision: revision, committed: time.Unix(n, 0).UTC()}
	if version != "" {
		if !releaseVersion.MatchString(version) {
			return treeState{}, fmt.Errorf("%q is no version of a release; write v1.2.3", version)
		}
		return tree, nil
	}
	newest, tagged := "", ""
	for _, tag := range []struct {
		name *string
		args []string
	}{{&newest, nil}, {&tagged, []string{"--exact-match"}}} {
		args := append([]string{"describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"}, tag.args...)
		if out, err := runOutput(ctx, ".", "git", args...); err == nil { // otherwise there is none
			*tag.name = out
		}
	}
	tree.version = treeVersion(newest, tagged, tree)
	status, err := runOutput(ctx, ".", "git", "status", "--porcelain", "--untracked-files=no")
	if status != "" {
		tree.version += "-dirty"
	}
	return tree, err
}

// treeVersion returns the version of a tree whose newest tag is newest, and whose commit has
// the tag tagged; both may be empty.
func treeVersion(newest, tagged string, tree treeState) string {
	if releaseVersion.MatchString(tagged) {
		return tagged
	}
	base := "v0.0.0-"
	if m := releaseVersion.FindStringSubmatch(newest); m != nil {
		if patch, err := strconv.Atoi(m[3]); err == nil {
			base = fmt.Sprintf("v%s.%s.%d-0.", m[1], m[2], patch+1)
		}
	}
	return base + tree.committed.Format("20060102150405") + "-" + tree.revision[:12]
}
