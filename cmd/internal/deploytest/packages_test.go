package deploytest

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// installedFiles are in both packages.
var installedFiles = []string{
	"usr/bin/quarry", "usr/lib/systemd/system/quarry.service", "usr/lib/sysusers.d/quarry.conf",
	"etc/quarry/quarry.yaml", "usr/share/doc/quarry/copyright", "usr/share/doc/quarry/third-party-notices.txt",
}

// buildPackages builds the packages around a small program, and returns their paths.
func buildPackages(t *testing.T, version string) (deb, rpm string) {
	t.Helper()
	requireProgram(t, "nfpm", "make deploy-tools builds it in .cache/deploy, which must be on the PATH")
	dir := t.TempDir()
	binary := filepath.Join(dir, "program")
	if err := os.WriteFile(binary, []byte("#!/bin/sh\necho "+version+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	mustRun(t, "go", "run", "./cmd/internal/tasks", "packages", "--version", version, "--arch", "amd64", "--binary", binary, "--out", dir)
	return findFile(t, dir, "*.deb"), findFile(t, dir, "*.rpm")
}

func findFile(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s in %s: %q, %v; want one", pattern, dir, found, err)
	}
	return found[0]
}

// TestDebianPackage installs a package into a scratch root, changes the settings,
// upgrades, removes and purges it.
func TestDebianPackage(t *testing.T) {
	dpkg := requireProgram(t, "dpkg", "Debian and Ubuntu have it")
	requireProgram(t, "systemd-sysusers", "Debian and Ubuntu have it in the package systemd")
	if os.Geteuid() != 0 && os.Getenv("QUARRY_REQUIRE_ALL") != "1" {
		t.Skip("needs root, because dpkg gives files to root")
	}
	first, _ := buildPackages(t, "v1.2.3")
	again, _ := buildPackages(t, "v1.2.3")
	second, _ := buildPackages(t, "v1.3.0")
	if hashFile(t, first) != hashFile(t, again) {
		t.Error("two packages of the same files differ")
	}
	scratch := t.TempDir()
	for _, d := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates", "etc"} {
		if err := os.MkdirAll(filepath.Join(scratch, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"var/lib/dpkg/status", "var/lib/dpkg/available"} {
		if err := os.WriteFile(filepath.Join(scratch, f), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	runDpkg := func(args ...string) {
		t.Helper()
		mustRun(t, dpkg, append([]string{"--root=" + scratch, "--force-script-chrootless", "--force-depends", "--force-confold", "--log=/dev/null"}, args...)...)
	}
	runDpkg("--install", first)
	checkInstalled(t, scratch)
	if passwd, err := os.ReadFile(filepath.Join(scratch, "etc/passwd")); err != nil || !strings.Contains(string(passwd), "quarry:x:") {
		t.Errorf("the user quarry is missing: %s, %v", passwd, err)
	}
	settings := filepath.Join(scratch, "etc/quarry/quarry.yaml")
	if err := os.WriteFile(settings, []byte("listen: 127.0.0.1:8080\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(scratch, "var/lib/quarry/log")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	runDpkg("--install", second)
	if text, err := os.ReadFile(settings); err != nil || string(text) != "listen: 127.0.0.1:8080\n" {
		t.Errorf("an upgrade changed the settings: %s, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(scratch, "usr/bin/quarry")); err != nil || !strings.Contains(string(text), "v1.3.0") {
		t.Errorf("an upgrade did not change the program: %s, %v", text, err)
	}
	runDpkg("--remove", "quarry")
	if _, err := os.Stat(filepath.Join(scratch, "usr/bin/quarry")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the program stays after a removal: %v", err)
	}
	if _, err := os.Stat(settings); err != nil {
		t.Errorf("a removal deletes the settings: %v", err)
	}
	runDpkg("--purge", "quarry")
	if _, err := os.Stat(settings); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the settings stay after a purge: %v", err)
	}
	if _, err := os.Stat(data); err != nil {
		t.Errorf("a purge deletes the data: %v", err)
	}
}

// TestRPMPackage installs a package into a scratch root, verifies and removes it. Its
// scripts are those of the Debian package.
func TestRPMPackage(t *testing.T) {
	rpm := requireProgram(t, "rpm", "Debian and Ubuntu have it in the package rpm")
	if os.Geteuid() != 0 && os.Getenv("QUARRY_REQUIRE_ALL") != "1" {
		t.Skip("needs root, because rpm gives files to root")
	}
	_, file := buildPackages(t, "v1.2.3")
	scratch := t.TempDir()
	runRPM := func(args ...string) string {
		t.Helper()
		return mustRun(t, rpm, append([]string{"--root", scratch, "--dbpath", "/var/lib/rpm"}, args...)...)
	}
	runRPM("--install", "--nodeps", "--noscripts", "--ignorearch", file)
	checkInstalled(t, scratch)
	runRPM("--verify", "--nodeps", "--noscripts", "quarry")
	if scripts := runRPM("--query", "--scripts", "quarry"); !strings.Contains(scripts, "systemd-sysusers") || !strings.Contains(scripts, "disable --now") {
		t.Errorf("the package lacks scripts: %s", scripts)
	}
	if wants := runRPM("--query", "--requires", "quarry"); !strings.Contains(wants, "git-core >= 2.34") {
		t.Errorf("the package does not require git: %s", wants)
	}
	runRPM("--erase", "--noscripts", "quarry")
	if _, err := os.Stat(filepath.Join(scratch, "usr/bin/quarry")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the program stays after a removal: %v", err)
	}
}

// checkInstalled checks the files of a package, and that only root may write to them.
func checkInstalled(t *testing.T, scratch string) {
	t.Helper()
	for _, name := range installedFiles {
		info, err := os.Stat(filepath.Join(scratch, name))
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm()&0o022 != 0 {
			t.Errorf("%s has mode %v: others may write to it", name, info.Mode())
		}
	}
	for _, from := range []string{"deploy/systemd/quarry.service usr/lib/systemd/system/quarry.service", "LICENSE usr/share/doc/quarry/copyright"} {
		source, installed, _ := strings.Cut(from, " ")
		if hashFile(t, filepath.Join(root, source)) != hashFile(t, filepath.Join(scratch, installed)) {
			t.Errorf("%s is not %s", installed, source)
		}
	}
}

func hashFile(t *testing.T, path string) [sha256.Size]byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(content)
}
