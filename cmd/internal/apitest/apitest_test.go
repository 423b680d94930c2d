package apitest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// program is where make api-test installs it.
func program(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("QUARRY_SCHEMATHESIS"); path != "" {
		return path
	}
	t.Skip("Schemathesis: QUARRY_SCHEMATHESIS does not say where it is; make api-test installs and runs it")
	return ""
}

// maxSeconds bounds each run.
const maxSeconds = 60

// undoing operations end what the others need: they are tried last, by themselves.
var undoing = []string{
	"removeRepository", "endSessions", "endSession", "deleteKey", "deleteUser", "suspendUser", "changeRole", "rollBackReplay", "startReplay",
}

// TestSchemathesis has nothing found, whoever asks.
func TestSchemathesis(t *testing.T) {
	path := program(t)
	w := newWorld(t)
	var only, without []string
	for _, operation := range undoing {
		only = append(only, "--include-operation-id="+operation)
		without = append(without, "--exclude-operation-id="+operation)
	}
	for _, tc := range []struct {
		name, key string
		args      []string
	}{
		{"anonymous", "", nil},
		{"member", w.memberKey, without},
		{"owner", w.ownerKey, without},
		{"owner, undoing", w.ownerKey, append(only, "--phases=examples,coverage,fuzzing")},
	} {
		t.Run(tc.name, func(t *testing.T) { w.run(t, path, tc.key, tc.args) })
	}
}

func (w *world) run(t *testing.T, path, key string, args []string) {
	t.Helper()
	seed := os.Getenv("QUARRY_SEED")
	if seed == "" {
		seed = strconv.Itoa(os.Getpid())
	}
	all := append([]string{
		"--config-file=schemathesis.toml", "run", w.url + "/api/openapi.json",
		"--no-color", "--workers=2", "--seed=" + seed, "--max-time=" + strconv.Itoa(maxSeconds),
	}, args...)
	if key != "" {
		all = append(all, "--header=Authorization: Bearer "+key)
	}
	command := exec.CommandContext(t.Context(), path, all...)
	command.Env = append(os.Environ(), "REPO_ID="+strconv.FormatInt(w.repoID, 10), "SCHEMATHESIS_HOOKS=")
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	err := command.Run()
	if err != nil {
		t.Errorf("%v\n%s", err, said.String())
	}
	t.Logf("seed %s: %s", seed, summary(said.String()))
}

// summary returns the last line that says something.
func summary(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	return fmt.Sprint(strings.Trim(lines[len(lines)-1], "= "))
}
