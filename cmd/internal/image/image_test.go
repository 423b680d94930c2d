package image

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/quarrysearch/quarry/cmd/internal/testserver"
)

// packagesVariable is the environment variable with the directory that make
// image-packages fills.
const packagesVariable = "QUARRY_IMAGE_PACKAGES"

// requirePackages returns the packages for a processor, or skips the test.
func requirePackages(t *testing.T, arch string) []Package {
	t.Helper()
	packages, err := ReadPackages(filepath.Join(os.Getenv(packagesVariable), arch))
	if err != nil {
		if os.Getenv("QUARRY_REQUIRE_ALL") == "1" {
			t.Fatal(err)
		}
		t.Skipf("needs Debian packages: make image-packages, and %s: %v", packagesVariable, err)
	}
	return packages
}

// TestImage builds an image twice and runs Quarry in it.
func TestImage(t *testing.T) {
	packages := requirePackages(t, runtime.GOARCH)
	dir := t.TempDir()
	binary := filepath.Join(dir, "quarry")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", binary, "github.com/quarrysearch/quarry/cmd/quarry")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	options := Options{
		Version: "v1.2.3", Revision: "abc", Created: time.Unix(1_700_000_000, 0).UTC(), Documents: []string{"../../../LICENSE"},
		Platforms: []Platform{{Arch: runtime.GOARCH, Binary: binary, Packages: packages}},
	}
	var digests [2]string
	var archives [2][]byte
	for i := range digests {
		at, archive := filepath.Join(dir, "layout"), filepath.Join(dir, "image.tar")
		var err error
		if digests[i], err = Write(t.Context(), at, options); err != nil {
			t.Fatal(err)
		}
		if err := WriteArchive(at, archive, options.Created); err != nil {
			t.Fatal(err)
		}
		if archives[i], err = os.ReadFile(archive); err != nil {
			t.Fatal(err)
		}
	}
	if digests[0] != digests[1] || !bytes.Equal(archives[0], archives[1]) {
		t.Errorf("two images of the same files differ: %s, %s", digests[0], digests[1])
	}
	img := readImage(t, filepath.Join(dir, "layout"))
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || config.Config.Labels["org.opencontainers.image.version"] != "v1.2.3" || config.Architecture != runtime.GOARCH {
		t.Errorf("the configuration is %+v, want the user 65532 and the version", config)
	}
	root := filepath.Join(dir, "root")
	extractImage(t, img, root)
	checkFiles(t, root)
	t.Run("runs", func(t *testing.T) { runImage(t, root) })
}

// readImage returns the image for this machine in a layout.
func readImage(t *testing.T, dir string) v1.Image {
	t.Helper()
	images, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	outer, err := images.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	index, err := images.ImageIndex(outer.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	img, err := index.Image(inner.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// extractImage unpacks the layers with tar, as a container engine would.
func extractImage(t *testing.T, img v1.Image, root string) {
	t.Helper()
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	files := mutate.Extract(img)
	unpack := exec.CommandContext(t.Context(), "tar", "-xp", "-C", root)
	unpack.Stdin = files
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", unpack, err, out)
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
}

// checkFiles checks that the image has the licenses and the bill of materials, that no
// shell is in it, and that only root may write to it.
func checkFiles(t *testing.T, root string) {
	t.Helper()
	bom, err := os.ReadFile(filepath.Join(root, documentDir, "sbom.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"pkg:golang/github.com/alecthomas/kong@", "pkg:deb/debian/git@1:", `"SHA-256"`} {
		if !bytes.Contains(bom, []byte(want)) {
			t.Errorf("the bill of materials lacks %s", want)
		}
	}
	for _, name := range []string{"usr/bin/sh", "usr/bin/bash", "usr/bin/perl", "usr/bin/dpkg"} {
		if _, err := os.Lstat(filepath.Join(root, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the image has %s: %v", name, err)
		}
	}
	for _, name := range []string{"usr/share/doc/git/copyright", documentDir + "LICENSE"} {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0:
			t.Errorf("%s runs with the rights of another user: %v", path, info.Mode())
		case info.Mode().Type() != fs.ModeSymlink && info.Mode().Perm()&0o022 != 0 && d.Name() != "tmp":
			t.Errorf("%s may be written by others: %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// inImage runs a program in the image as a container engine does: the root file system is
// read-only, the user is that of the image, and the directories of this test are a
// volume. Each step replaces the shell, so that signals reach the program.
const inImage = `#!/bin/sh -e
root=$1; volume=$2; shift 2
exec unshare --mount --propagation private sh -ec '
	root=$1; volume=$2; shift 2
	mkdir -p "$root/dev" "$root/proc"
	mount --bind "$root" "$root"
	mount --rbind /dev "$root/dev"
	mount --bind /proc "$root/proc"
	mount -t tmpfs tmpfs "$root/tmp"
	mkdir -p "$root$volume"
	mount --bind "$volume" "$root$volume"
	mount -o remount,bind,ro "$root"
	exec env -i PATH=/usr/bin:/usr/sbin:/bin:/sbin HOME=/var/lib/quarry chroot --userspec=65532:65532 "$root" "$@"
' sh "$root" "$volume" "$@"
`

// runImage indexes and searches a repository with the server of an image.
func runImage(t *testing.T, root string) {
	required := os.Getenv("QUARRY_REQUIRE_ALL") == "1"
	if os.Geteuid() != 0 && !required {
		t.Skip("needs root, to mount the image read-only and to run it as another user")
	}
	if out, err := exec.CommandContext(t.Context(), "unshare", "--mount", "--propagation", "private", "mount", "-t", "tmpfs", "tmpfs", t.TempDir()).CombinedOutput(); err != nil && !required {
		t.Skipf("this machine does not allow root to mount: %v: %s", err, out)
	}
	dir := t.TempDir()
	volume := filepath.Dir(dir)
	script := filepath.Join(dir, "in-image")
	if err := os.WriteFile(script, []byte(inImage), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), script, append([]string{root, volume}, args...)...).CombinedOutput()
		return string(out), err
	}
	if out, err := run("/usr/bin/git", "ls-remote", "https://127.0.0.1:1/none.git"); err == nil || !strings.Contains(out, "onnect") {
		t.Fatalf("git over HTTPS in the image: %v: %s; want that it cannot connect", err, out)
	}
	if out, err := run("/usr/bin/ssh", "-V"); err != nil || !strings.Contains(out, "OpenSSH") {
		t.Errorf("ssh in the image: %v: %s", err, out)
	}
	if out, err := run("/usr/bin/git", "init", "--bare", "/var/lib/quarry/new.git"); err == nil || !strings.Contains(out, "Read-only file system") {
		t.Errorf("git writes to the root file system: %v: %s", err, out)
	}
	repositories := t.TempDir()
	testserver.MakeRepository(t, filepath.Join(repositories, "kettle"))
	data := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "chown", "-R", "65532:65532", volume).CombinedOutput(); err != nil {
		t.Fatalf("chown: %v: %s", err, out)
	}
	server := exec.Command(script, root, volume, "/usr/bin/quarry", "serve", "--data", data+"/data", "--listen", "127.0.0.1:0", "--git-root", repositories, "--set", "git.allowedProtocols=file")
	log, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		if err := server.Wait(); err != nil {
			t.Errorf("the server did not stop: %v", err)
		}
	})
	lines, url := bufio.NewScanner(log), ""
	for url == "" && lines.Scan() {
		if m := regexp.MustCompile(`msg=serving url=(\S+)`).FindStringSubmatch(lines.Text()); m != nil {
			url = m[1]
		}
		t.Log(lines.Text())
	}
	go func() {
		for lines.Scan() { // so that the server never waits for this reader
		}
	}()
	for _, args := range [][]string{
		{"index", filepath.Join(repositories, "kettle"), "--name", "kettle"}, {"search", "sym:Boil"}, {"log", "kettle", "src/boil.go"},
	} {
		out, err := run(append(append([]string{"/usr/bin/quarry"}, args...), "--data", data+"/data", "--server", url)...)
		if err != nil || args[0] == "search" && !strings.Contains(out, "src/boil.go") {
			t.Fatalf("quarry %q in the image: %v\n%s", args, err, out)
		}
	}
}

// TestPackagesAreComplete checks the packages for each processor: certificate
// authorities, licenses, and every library that a program links.
func TestPackagesAreComplete(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			files := newRootfs()
			for _, p := range requirePackages(t, arch) {
				if err := files.addPackage(t.Context(), p); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(files.joinCertificates(), files.checkLibraries()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRootfsRejectsWhatImagesMustNotHave adds archives that a package must not contain.
func TestRootfsRejectsWhatImagesMustNotHave(t *testing.T) {
	pack := func(headers ...tar.Header) io.Reader {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, h := range headers {
			if err := w.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(make([]byte, h.Size)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return &b
	}
	files := newRootfs()
	if err := files.addArchive(pack(
		tar.Header{Name: "../../etc/escaped", Typeflag: tar.TypeReg, Mode: 0o644, Size: 1},
		tar.Header{Name: "./bin/su", Typeflag: tar.TypeReg, Mode: 0o6755, Size: 1, Uid: 7},
		tar.Header{Name: "./usr/share/man/man1/su.1", Typeflag: tar.TypeReg, Mode: 0o644, Size: 1},
	)); err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(files.entries)); !slices.Equal(got, []string{"etc", "etc/escaped", "usr", "usr/bin", "usr/bin/su"}) {
		t.Errorf("entries %q", got)
	}
	if e := files.entries["usr/bin/su"]; e.Mode != 0o755 || e.Uid != 0 {
		t.Errorf("su has mode %o and user %d, want 755 and root", e.Mode, e.Uid)
	}
	if err := files.addArchive(pack(tar.Header{Name: "dev/sda", Typeflag: tar.TypeBlock})); err == nil || !strings.Contains(err.Error(), "dev/sda") {
		t.Errorf("a device: %v, want an error that names it", err)
	}
	files.bytes = maxTreeBytes
	if err := files.addArchive(pack(tar.Header{Name: "big", Typeflag: tar.TypeReg, Size: 1})); err == nil || !strings.Contains(err.Error(), "512 MiB") {
		t.Errorf("a large file: %v, want an error that names the bound", err)
	}
}

// TestCheckLibrariesNamesMissingOnes adds git without the libraries that it links.
func TestCheckLibrariesNamesMissingOnes(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(git)
	if err != nil {
		t.Fatal(err)
	}
	files := newRootfs()
	if err := files.addFile("usr/bin/git", 0o755, content); err != nil {
		t.Fatal(err)
	}
	if err := files.checkLibraries(); err == nil || !strings.Contains(err.Error(), "libc.so") {
		t.Errorf("git without libraries: %v, want an error that names libc", err)
	}
}

// TestReadPackages reads a directory with other files, and one that lacks packages.
func TestReadPackages(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("git_1%3a2.39.5-0+deb12u3_amd64.deb")
	if _, err := ReadPackages(dir); err == nil || !strings.Contains(err.Error(), "make image-packages") {
		t.Errorf("only git: %v, want the command that fetches the others", err)
	}
	write("ca-certificates_20250419~deb12u2_all.deb")
	write("openssh-client_1%3a9.2p1-2+deb12u10_amd64.deb")
	packages, err := ReadPackages(dir)
	if err != nil || len(packages) != 3 || packages[1].Version != "1:2.39.5-0+deb12u3" {
		t.Errorf("packages %+v, %v", packages, err)
	}
	write("-x.deb")
	if _, err := ReadPackages(dir); err == nil {
		t.Error("a file that is no package was accepted")
	}
}
