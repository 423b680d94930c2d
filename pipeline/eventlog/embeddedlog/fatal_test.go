package embeddedlog

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestFatalErrorIsOneLine has Pebble say that it cannot go on: the log has one line with the
// directory, the error and what helps, and the process ends with status 1.
func TestFatalErrorIsOneLine(t *testing.T) {
	status := -1
	defer func(before func(int)) { exitProcess = before }(exitProcess)
	exitProcess = func(code int) { status = code }
	var said bytes.Buffer
	p := pebbleLogger{slog.New(slog.NewTextHandler(&said, nil)), "/data/log"}
	p.Fatalf("cannot write %s", "000012.log")
	if status != 1 {
		t.Errorf("the process ends with status %d, want 1", status)
	}
	line := said.String()
	for _, want := range []string{"level=ERROR", "restore them from a backup", "directory=/data/log", "pebble: cannot write 000012.log"} {
		if !strings.Contains(line, want) || strings.Count(line, "\n") != 1 {
			t.Errorf("the log says %q, want one line with %q", line, want)
		}
	}
}
