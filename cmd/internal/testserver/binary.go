package testserver

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BinaryVariable is the environment variable with the path of the binary that tests run.
// `make test` builds it once for all packages; without it, each package builds its own.
const BinaryVariable = "QUARRY_TEST_BINARY"

// ChaosTag is the build tag that gives the binary a clock that tests can move. It changes
// nothing else.
const ChaosTag = "quarrychaos"

// StampedRelease is the release of the binary. It is not a tag; make build RELEASE=… sets
// such a release.
const StampedRelease = "v9.8.7"

// errOtherBinary means that the binary in BinaryVariable was not built for tests.
var errOtherBinary = errors.New("not a binary for tests; build it with `make test-binary`")

// Build returns the path of the binary that tests run.
func Build(t testing.TB) string {
	t.Helper()
	binary, err := BuildIn(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// BuildIn returns the path dir/quarry of the binary that tests run, for tests of a package
// that share it. The file is a link to the binary in BinaryVariable, if there is one.
// Additional flags of go build, such as those of coverage, need a separate binary, so
// with them the variable is ignored.
func BuildIn(dir string, flags ...string) (string, error) {
	binary := filepath.Join(dir, "quarry")
	if given := os.Getenv(BinaryVariable); given != "" && len(flags) == 0 {
		if err := checkBinary(given); err != nil {
			return "", fmt.Errorf("%s=%s: %w", BinaryVariable, given, err)
		}
		return binary, os.Symlink(given, binary)
	}
	args := append([]string{"build", "-tags", ChaosTag, "-ldflags=-X github.com/quarrysearch/quarry/cmd/internal/boot.release=" + StampedRelease}, flags...)
	build := exec.Command("go", append(args, "-o", binary, "github.com/quarrysearch/quarry/cmd/quarry")...)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", build, err, out)
	}
	return binary, nil
}

// checkBinary checks the build tags of a binary: without the tag, a test that moves the
// clock would show nothing.
func checkBinary(path string) error {
	if !filepath.IsAbs(path) {
		return errors.New("want an absolute path")
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	for _, setting := range info.Settings {
		if setting.Key == "-tags" && setting.Value == ChaosTag {
			return nil
		}
	}
	return errOtherBinary
}
