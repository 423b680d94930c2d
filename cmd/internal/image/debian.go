package image

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// wantedPackages are the programs that Quarry runs, and the certificate authorities that
// both it and git trust.
var wantedPackages = []string{"ca-certificates", "git", "openssh-client"}

// leftOutPackages are patterns of packages that only scripts of git, manuals and the
// installation of packages need. checkLibraries finds a pattern that matches too much.
var leftOutPackages = []string{
	"*-base", "adduser", "debconf", "dpkg", "git-man", "libacl1", "libaudit*", "libbz2-*", "libcap-ng0", "libcrypt1", "libdb5*", "*-perl",
	"libgdbm*", "liblzma5", "libpam*", "libperl*", "libsasl2-modules-db", "libsemanage*", "libsepol*", "openssl", "openssl-*", "passwd", "perl*", "tar",
}

// A Package is a file of a Debian package.
type Package struct {
	Name, Version, Arch, File string
}

var packageFile = regexp.MustCompile(`^([a-z0-9][a-z0-9+.-]*)_([0-9A-Za-z.+~%:-]+)_([a-z0-9]+)\.deb$`)

// ReadPackages returns the packages in a directory that FetchPackages filled.
func ReadPackages(dir string) ([]Package, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil {
		return nil, err
	}
	var packages []Package
	for _, file := range files {
		m := packageFile.FindStringSubmatch(filepath.Base(file))
		if m == nil {
			return nil, fmt.Errorf("%s: not the name of a Debian package; remove the file", file)
		}
		version, err := url.PathUnescape(m[2])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		packages = append(packages, Package{Name: m[1], Version: version, Arch: m[3], File: file})
	}
	for _, name := range wantedPackages {
		if !slices.ContainsFunc(packages, func(p Package) bool { return p.Name == name }) {
			return nil, fmt.Errorf("%s has no package %s; run make image-packages", dir, name)
		}
	}
	return packages, nil
}

// FetchPackages downloads the packages for a processor to dir, and removes others from
// it. apt reads the sources of this machine and checks signatures and sizes. The lists are
// kept in a separate directory next to dir, so that nothing of the machine changes and no
// rights are needed.
func FetchPackages(ctx context.Context, dir, arch string) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return errors.New("git for the image comes from Debian's packages: run this on Debian 12 or newer, where apt-get is")
	}
	state, err := filepath.Abs(dir + ".apt")
	if err != nil {
		return err
	}
	for _, d := range []string{dir, filepath.Join(state, "lists", "partial"), filepath.Join(state, "archives", "partial")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	status := filepath.Join(state, "status")
	if err := os.WriteFile(status, nil, 0o644); err != nil { // nothing is installed, so every library is selected
		return err
	}
	runApt := func(args ...string) ([]byte, error) {
		command := exec.CommandContext(ctx, "apt-get", append([]string{
			"-q", "-o", "Dir::State=" + state, "-o", "Dir::State::status=" + status, "-o", "Dir::Cache=" + state,
			"-o", "APT::Architecture=" + arch, "-o", "APT::Architectures::=" + arch, "-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=1",
			"-o", "Acquire::AllowInsecureRepositories=false", "-o", "APT::Get::AllowUnauthenticated=false", "-o", "Acquire::Languages=none",
		}, args...)...)
		command.Dir = dir
		var stderr bytes.Buffer
		command.Stderr = &stderr
		out, err := command.Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %s", command, err, bytes.TrimSpace(stderr.Bytes()))
		}
		return out, nil
	}
	if _, err := runApt("update"); err != nil {
		return err
	}
	list, err := runApt(append([]string{"-y", "--no-install-recommends", "--print-uris", "install"}, wantedPackages...)...)
	if err != nil {
		return err
	}
	var names []string
	kept := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		fields := strings.Fields(line)
		if !strings.HasPrefix(line, "'") || len(fields) < 3 {
			continue
		}
		m := packageFile.FindStringSubmatch(fields[1])
		if m == nil {
			return fmt.Errorf("apt-get --print-uris printed an unexpected line: %q", line)
		}
		if !slices.ContainsFunc(leftOutPackages, func(p string) bool { ok, _ := path.Match(p, m[1]); return ok }) {
			names, kept[fields[1]] = append(names, m[1]), true
		}
	}
	if _, err := runApt(append([]string{"download"}, names...)...); err != nil {
		return err
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if !kept[f.Name()] {
			if err := os.Remove(filepath.Join(dir, f.Name())); err != nil {
				return err
			}
		}
	}
	_, err = ReadPackages(dir)
	return err
}

// describePackage returns the entry of a package in the bill of materials.
func describePackage(p Package) (Component, error) {
	content, err := os.ReadFile(p.File)
	if err != nil {
		return Component{}, err
	}
	return Component{
		Type: "library", Name: p.Name, Version: p.Version,
		PURL:   "pkg:deb/debian/" + p.Name + "@" + strings.ReplaceAll(p.Version, "+", "%2B") + "?arch=" + p.Arch,
		Hashes: []Hash{{Algorithm: "SHA-256", Content: fmt.Sprintf("%x", sha256.Sum256(content))}},
	}, nil
}

// addPackage adds the files of a Debian package to a root file system.
func (r *rootfs) addPackage(ctx context.Context, p Package) error {
	command := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", p.File)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	err = r.addArchive(out)
	if err != nil {
		_ = command.Process.Kill() // the first error is the reason
	}
	if err := errors.Join(err, command.Wait()); err != nil {
		return fmt.Errorf("%s: %w %s", p.File, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return nil
}
