package pebblelog

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestFatalErrorIsOneLine makes Pebble report a fatal error: the log has one line with
// the directory, the error and the remedy, and the process exits with status 1.
func TestFatalErrorIsOneLine(t *testing.T) {
	status := -1
	defer func(before func(int)) { exitProcess = before }(exitProcess)
	exitProcess = func(code int) { status = code }
	var said bytes.Buffer
	l := Logger{slog.New(slog.NewTextHandler(&said, nil)), "/data/projections", "the store cannot continue: start again"}
	l.Infof("opened %s", "000011.log")
	if said.Len() > 0 {
		t.Errorf("the log says %q of a notice, want nothing at the level info", said.String())
	}
	l.Fatalf("cannot write %s", "000012.log")
	if status != 1 {
		t.Errorf("the process ends with status %d, want 1", status)
	}
	line := said.String()
	for _, want := range []string{"level=ERROR", "start again", "directory=/data/projections", "pebble: cannot write 000012.log"} {
		if !strings.Contains(line, want) || strings.Count(line, "\n") != 1 {
			t.Errorf("the log says %q, want one line with %q", line, want)
		}
	}
}

// TestLevels checks that errors are logged as errors, and notices only at the debug
// level.
func TestLevels(t *testing.T) {
	var said bytes.Buffer
	l := Logger{Logger: slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug})), Dir: "/data/log"}
	l.Infof("opened %s", "000011.log")
	l.Errorf("slow sync of %s", "000012.log")
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	for i, want := range []string{`level=DEBUG msg="pebble: opened 000011.log" directory=/data/log`, `level=ERROR msg="pebble: slow sync of 000012.log" directory=/data/log`} {
		if i >= len(lines) || !strings.HasSuffix(lines[i], want) {
			t.Errorf("a notice and an error are logged as\n%s\nwant %s as line %d", said.String(), want, i+1)
		}
	}
}
