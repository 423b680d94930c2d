package embeddedlog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// childDirectory is the environment variable that makes the test binary a writer process,
// which the test kills.
const childDirectory = "QUARRY_TEST_EMBEDDEDLOG_CHILD"

// runChild appends forever from four goroutines and prints the text of each record once
// it is acknowledged.
func runChild(dir string) {
	l, err := Open(dir, Options{Partitions: 1})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := 0; ; i++ {
				text := fmt.Sprintf("%d-%d-%d", os.Getpid(), w, i)
				positions, err := l.Append(context.Background(), "t", 0, textRecord(text))
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				// One write, so that lines of two goroutines do not mix.
				_, _ = os.Stdout.WriteString(fmt.Sprintf("%d %s\n", positions[0].Offset, text))
			}
		})
	}
	writers.Wait()
}

// TestKill9KeepsAcknowledgedAppends kills a process that appends, several times on the
// same directory, and reads back the acknowledged records.
func TestKill9KeepsAcknowledgedAppends(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	acknowledged := map[int64]string{}
	for round := range 3 {
		before := len(acknowledged)
		appendUntilKilled(t, executable, dir, 200*(round+1), acknowledged)
		if len(acknowledged) <= before {
			t.Fatal("the child acknowledged nothing")
		}
		checkAcknowledged(t, dir, acknowledged)
	}
	t.Logf("%d acknowledged appends survived", len(acknowledged))
}

// appendUntilKilled records the acknowledgements of the child and kills it after the
// given number of lines. It then continues reading, because more lines may be in the
// pipe.
func appendUntilKilled(t *testing.T, executable, dir string, lines int, acknowledged map[int64]string) {
	t.Helper()
	child := exec.Command(executable, "-test.run=^$")
	child.Env = append(os.Environ(), childDirectory+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(out)
	for n := 1; scanner.Scan(); n++ {
		offset, text, _ := strings.Cut(scanner.Text(), " ")
		number, err := strconv.ParseInt(offset, 10, 64)
		if err != nil {
			t.Fatalf("child printed %q", scanner.Text())
		}
		acknowledged[number] = text
		if n == 1 {
			if _, err := Open(dir, Options{}); !errors.Is(err, ErrLocked) {
				t.Fatalf("Open while another process has the log: %v, want ErrLocked", err)
			}
		}
		if n == lines {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = child.Wait() // killed
}

func checkAcknowledged(t *testing.T, dir string, acknowledged map[int64]string) {
	t.Helper()
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	marks, err := l.HighWater(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Tail(t.Context(), "t", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for range marks[0] {
		rec, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := acknowledged[int64(rec.Position.Offset)]; ok {
			if found++; text != string(rec.Value) {
				t.Fatalf("%q at offset %d, acknowledged %q", rec.Value, rec.Position.Offset, text)
			}
		}
	}
	if found != len(acknowledged) {
		t.Fatalf("%d of %d acknowledged appends are there", found, len(acknowledged))
	}
}
