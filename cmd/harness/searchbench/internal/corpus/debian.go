package corpus

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// fetchDebianBinary unpacks a package that ships its sources as a tarball under /usr/src,
// as linux-source does.
//
// Debian's archive keeps only the newest version of a release. If the pinned version is
// gone, the current one is used, and the Manifest records it.
func fetchDebianBinary(ctx context.Context, name, version, cache, dest string) (string, error) {
	archive, err := downloadOnce(cache, name+"_*.deb", func(dir string) error {
		pinned := command{dir: dir, args: []string{"apt-get", "-o", "APT::Sandbox::User=root", "download", name + "=" + version}}
		if pinned.run(ctx) == nil {
			return nil
		}
		return command{dir: dir, args: []string{"apt-get", "-o", "APT::Sandbox::User=root", "download", name}}.run(ctx)
	})
	if err != nil {
		return "", fmt.Errorf("%w (after a fresh start of the machine, run apt-get update first)", err)
	}
	unpacked, err := os.MkdirTemp(cache, "unpack-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(unpacked)
	if err := (command{args: []string{"dpkg-deb", "-x", archive, unpacked}}).run(ctx); err != nil {
		return "", err
	}
	tarballs, err := filepath.Glob(filepath.Join(unpacked, "usr/src/*.tar.*"))
	if err != nil || len(tarballs) != 1 {
		return "", fmt.Errorf("%s: want one tarball under usr/src, got %d", name, len(tarballs))
	}
	return debianVersion(archive), unpackTar(ctx, tarballs[0], dest)
}

// debianVersion parses the version in NAME_VERSION_ARCH.deb.
func debianVersion(path string) string {
	parts := strings.Split(strings.TrimSuffix(filepath.Base(path), ".deb"), "_")
	if len(parts) < 2 {
		return ""
	}
	return strings.ReplaceAll(parts[1], "%3a", ":")
}

// fetchDebianSource downloads a source package and unpacks it without Debian's patches.
// Versions are handled as in fetchDebianBinary.
func fetchDebianSource(ctx context.Context, name, version, cache, dest string) (string, error) {
	description, err := downloadSource(ctx, name, version, cache)
	if err != nil {
		return "", err
	}
	err = command{dir: cache, args: []string{"dpkg-source", "--no-check", "--skip-patches", "-x", description, dest}}.run(ctx)
	served := debianVersion(strings.TrimSuffix(description, ".dsc"))
	if _, withoutEpoch, ok := strings.Cut(version, ":"); ok && served == withoutEpoch { // file names omit the epoch
		served = version
	}
	return served, err
}

func downloadSource(ctx context.Context, name, version, cache string) (string, error) {
	if found, err := filepath.Glob(filepath.Join(cache, "*.dsc")); err == nil && len(found) == 1 {
		return found[0], nil
	}
	apt, err := sourceApt(ctx, filepath.Join(filepath.Dir(cache), "apt"))
	if err != nil {
		return "", err
	}
	source := append(apt, "source", "--quiet", "--download-only")
	err = command{dir: cache, args: append(source, name+"="+version)}.run(ctx)
	if err != nil {
		err = command{dir: cache, args: append(source, name)}.run(ctx)
	}
	if err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(cache, "*.dsc"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("apt-get source %s: want one .dsc, got %d", name, len(found))
	}
	return found[0], nil
}

// sourceApt returns an apt-get command that knows the source packages of the archives
// configured on this machine, without changing the machine's lists: most images are
// configured only for binary packages.
func sourceApt(ctx context.Context, state string) ([]string, error) {
	parts, lists := filepath.Join(state, "parts"), filepath.Join(state, "lists")
	apt := []string{
		"apt-get", "-o", "Dir::Etc::SourceList=/dev/null", "-o", "Dir::Etc::SourceParts=" + parts, "-o", "Dir::State::Lists=" + lists,
		"-o", "APT::Sandbox::User=root",
	}
	stamp := filepath.Join(state, "updated")
	if _, err := os.Stat(stamp); err == nil {
		return apt, nil
	}
	for _, dir := range []string{parts, filepath.Join(lists, "partial")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	if err := writeSourceParts(parts); err != nil {
		return nil, err
	}
	if err := (command{args: append(apt, "update", "--quiet")}).run(ctx); err != nil {
		return nil, err
	}
	return apt, os.WriteFile(stamp, nil, 0o644)
}

var (
	oneLineDeb  = regexp.MustCompile(`(?m)^deb\s`)
	deb822Types = regexp.MustCompile(`(?m)^Types:.*$`)
)

// writeSourceParts copies the machine's list of archives and requests sources instead of
// binaries.
func writeSourceParts(parts string) error {
	files, err := filepath.Glob("/etc/apt/sources.list.d/*")
	if err != nil {
		return err
	}
	for _, path := range append(files, "/etc/apt/sources.list") {
		data, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		switch filepath.Ext(path) {
		case ".list":
			data = oneLineDeb.ReplaceAll(data, []byte("deb-src "))
		case ".sources":
			data = deb822Types.ReplaceAll(data, []byte("Types: deb-src"))
		default:
			continue
		}
		if err := os.WriteFile(filepath.Join(parts, filepath.Base(path)), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
