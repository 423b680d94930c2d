package deploytest

import (
	"os"
	"os/exec"
	"testing"
)

const root = "../../.."

// requireProgram skips the test if a program is missing, or fails it if
// QUARRY_REQUIRE_ALL=1.
func requireProgram(t *testing.T, name, remedy string) string {
	t.Helper()
	program, err := exec.LookPath(name)
	switch {
	case err != nil && os.Getenv("QUARRY_REQUIRE_ALL") == "1":
		t.Fatalf("%v; %s", err, remedy)
	case err != nil:
		t.Skipf("%s is not installed; %s", name, remedy)
	}
	return program
}

// runProgram runs a program in the root of the tree, and returns its output.
func runProgram(t *testing.T, program string, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Dir = root
	out, err := command.CombinedOutput()
	return string(out), err
}

// mustRun is runProgram for programs that must succeed.
func mustRun(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := runProgram(t, program, args...)
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", program, args, err, out)
	}
	return out
}
