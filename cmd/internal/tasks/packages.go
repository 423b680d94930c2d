package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

type packagesTask struct {
	Version string   `help:"Version, such as v0.2.0. Empty: derived from the commit."`
	Out     string   `default:".cache/packages" help:"Directory of the binaries and the packages."`
	Arch    []string `default:"amd64,arm64" help:"Processors."`
	Binary  string   `help:"Binary to pack, for one processor. Empty: build it."`
}

// Run implements the task. Two runs at one commit write the same bytes.
func (p *packagesTask) Run(ctx context.Context) error {
	nfpm, err := exec.LookPath("nfpm")
	if err != nil {
		return errors.New("nfpm is not on the PATH; run make packages, which builds it in .cache/deploy")
	}
	tree, err := describeTree(ctx, p.Version)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(p.Out, 0o755); err != nil {
		return err
	}
	for _, arch := range p.Arch {
		binary := p.Binary
		if binary == "" {
			binary = filepath.Join(p.Out, "quarry-"+arch)
			if err := buildStatic(ctx, "linux/"+arch, tree.version, binary); err != nil {
				return err
			}
		}
		stage, err := stagePackage(filepath.Join(p.Out, "stage"), binary, tree.committed)
		if err != nil {
			return err
		}
		for _, packager := range []string{"deb", "rpm"} {
			command := newCommand(ctx, ".", nfpm, "package", "--config", "deploy/packages/nfpm.yaml", "--packager", packager, "--target", p.Out)
			command.Env = append(os.Environ(), "QUARRY_PACKAGE_ARCH="+arch, "QUARRY_PACKAGE_VERSION="+strings.TrimPrefix(tree.version, "v"),
				"QUARRY_PACKAGE_STAGE="+stage, fmt.Sprintf("SOURCE_DATE_EPOCH=%d", tree.committed.Unix()))
			if err := command.Run(); err != nil {
				return fmt.Errorf("%s for %s: %w", packager, arch, err)
			}
		}
	}
	return nil
}

// stagePackage copies the files of a package to dir, which it replaces. All have the time
// of the commit, because packages record the time of each file.
func stagePackage(dir, binary string, when time.Time) (string, error) {
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return "", err
	}
	for from, to := range map[string]string{
		binary: "quarry", "LICENSE": "copyright", noticesFile: filepath.Base(noticesFile), "deploy/systemd/quarry.service": "quarry.service",
		"deploy/systemd/sysusers.conf": "sysusers.conf", "deploy/systemd/quarry.yaml": "quarry.yaml",
	} {
		content, err := os.ReadFile(from)
		if err != nil {
			return "", err
		}
		path := filepath.Join(dir, to)
		if err := errors.Join(os.WriteFile(path, content, 0o644), os.Chtimes(path, when, when)); err != nil {
			return "", err
		}
	}
	return dir, nil
}
