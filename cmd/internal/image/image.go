package image

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// userID is the user and the group of the process. It has no other rights.
	userID = 65532
	// dataDir is the directory of all data; mount a volume there.
	dataDir = "/var/lib/quarry"
	// documentDir has the licenses and the bill of materials.
	documentDir = "usr/share/doc/quarry/"
)

// Options describe an image.
type Options struct {
	Version, Revision string
	// Created is the time of the commit. All files have it.
	Created   time.Time
	Platforms []Platform
	// Documents are files, such as licenses, that accompany the binary.
	Documents []string
}

// A Platform is one processor that the image supports.
type Platform struct {
	Arch string
	// Binary is the path of the statically linked program.
	Binary   string
	Packages []Package
}

// Write writes the image to the OCI layout at dir, which it replaces, and returns the
// digest of its index.
func Write(ctx context.Context, dir string, o Options) (digest string, err error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range o.Platforms {
		img, err := buildImage(ctx, p, o)
		if err != nil {
			return "", fmt.Errorf("linux/%s: %w", p.Arch, err)
		}
		platform := &v1.Platform{OS: "linux", Architecture: p.Arch}
		if p.Arch == "arm64" {
			platform.Variant = "v8"
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: platform}})
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	images, err := layout.Write(dir, empty.Index)
	if err != nil {
		return "", err
	}
	if err := images.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": o.Version})); err != nil {
		return "", err
	}
	hash, err := index.Digest()
	return hash.String(), err
}

// buildImage builds the image for one processor: a layer of packages, and a layer of
// Quarry, which changes with each version.
func buildImage(ctx context.Context, p Platform, o Options) (v1.Image, error) {
	lower, upper := newRootfs(), newRootfs()
	for _, name := range mergedDirs {
		lower.entries[name] = entry{Header: tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: "usr/" + name, Mode: 0o777}}
	}
	components, err := LinkedModules(p.Binary)
	if err != nil {
		return nil, err
	}
	for _, pkg := range p.Packages {
		if err := lower.addPackage(ctx, pkg); err != nil {
			return nil, err
		}
		c, err := describePackage(pkg)
		if err != nil {
			return nil, err
		}
		components = append(components, c)
	}
	if err := lower.joinCertificates(); err != nil {
		return nil, err
	}
	if err := lower.checkLibraries(); err != nil {
		return nil, err
	}
	bom, err := EncodeBOM(o.Version, components)
	if err != nil {
		return nil, err
	}
	if err := addQuarry(upper, p.Binary, bom, o.Documents); err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, l := range []struct {
		files   *rootfs
		comment string
	}{{lower, "git, ssh and certificate authorities of Debian"}, {upper, "Quarry " + o.Version}} {
		layer, err := newLayer(l.files, o.Created)
		if err != nil {
			return nil, err
		}
		img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: o.Created}, CreatedBy: "make image", Comment: l.comment}})
		if err != nil {
			return nil, err
		}
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", p.Arch, v1.Time{Time: o.Created}
	config.Config = v1.Config{
		User:         fmt.Sprintf("%d:%d", userID, userID),
		Entrypoint:   []string{"/usr/bin/quarry"},
		Cmd:          []string{"serve"},
		WorkingDir:   dataDir,
		Env:          []string{"PATH=/usr/bin", "HOME=" + dataDir, "QUARRY_DATA=" + dataDir, "QUARRY_LISTEN=0.0.0.0:7070"},
		ExposedPorts: map[string]struct{}{"7070/tcp": {}},
		Volumes:      map[string]struct{}{dataDir: {}},
		StopSignal:   "SIGTERM",
		Labels: map[string]string{
			"org.opencontainers.image.title":         "Quarry",
			"org.opencontainers.image.description":   "Self-hosted code search that follows each push",
			"org.opencontainers.image.version":       o.Version,
			"org.opencontainers.image.revision":      o.Revision,
			"org.opencontainers.image.created":       o.Created.Format(time.RFC3339),
			"org.opencontainers.image.source":        "https://github.com/quarrysearch/quarry",
			"org.opencontainers.image.documentation": "https://github.com/quarrysearch/quarry/blob/main/docs/deploy.md",
			"org.opencontainers.image.licenses":      "Apache-2.0",
		},
	}
	return mutate.ConfigFile(img, config)
}

// addQuarry adds the binary, its documents, its user and its directories.
func addQuarry(files *rootfs, binary string, bom []byte, documents []string) error {
	contents := map[string][]byte{
		documentDir + "sbom.cdx.json": bom,
		"etc/passwd":                  fmt.Appendf(nil, "root:x:0:0:root:/:/nonexistent\nquarry:x:%d:%[1]d:Quarry:%s:/nonexistent\n", userID, dataDir),
		"etc/group":                   fmt.Appendf(nil, "root:x:0:\nquarry:x:%d:\n", userID),
		"etc/nsswitch.conf":           []byte("passwd: files\ngroup: files\nhosts: files dns\n"),
	}
	for _, file := range documents {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		contents[documentDir+filepath.Base(file)] = content
	}
	for name, content := range contents {
		if err := files.addFile(name, 0o644, content); err != nil {
			return err
		}
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	if err := files.addFile("usr/bin/quarry", 0o755, program); err != nil {
		return err
	}
	if err := files.add(tar.Header{Name: dataDir, Typeflag: tar.TypeDir, Mode: 0o700, Uid: userID, Gid: userID}, nil); err != nil {
		return err
	}
	return files.add(tar.Header{Name: "tmp", Typeflag: tar.TypeDir, Mode: 0o1777}, nil)
}

// layer is an uncompressed layer. The library compresses it.
type layer struct {
	archive []byte
	id      v1.Hash
}

func newLayer(files *rootfs, when time.Time) (v1.Layer, error) {
	var archive bytes.Buffer
	if err := files.writeLayer(&archive, when); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(archive.Bytes())
	return partial.UncompressedToLayer(&layer{archive.Bytes(), v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(sum[:])}})
}

// DiffID implements partial.UncompressedLayer.
func (l *layer) DiffID() (v1.Hash, error) { return l.id, nil }

// Uncompressed implements partial.UncompressedLayer.
func (l *layer) Uncompressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(l.archive)), nil
}

// MediaType implements partial.UncompressedLayer.
func (l *layer) MediaType() (types.MediaType, error) { return types.OCILayer, nil }

// WriteArchive writes the files of a layout as one archive, as docker load and skopeo
// take it.
func WriteArchive(dir, out string, when time.Time) error {
	files := newRootfs()
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		return files.addFile(path.Clean(filepath.ToSlash(relative)), 0o644, content)
	})
	if err != nil {
		return err
	}
	var archive bytes.Buffer
	if err := files.writeLayer(&archive, when); err != nil {
		return err
	}
	return os.WriteFile(out, archive.Bytes(), 0o644)
}
