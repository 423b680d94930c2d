package backup

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestBackupDiesAfterAnyFile takes a snapshot of the directory after each file of a
// second backup: the first generation can be restored, and another backup completes.
func TestBackupDiesAfterAnyFile(t *testing.T) {
	i, dir, states := newInstallation(t), filepath.Join(t.TempDir(), "backups"), t.TempDir()
	i.indexSegment(t, 1)
	i.backUp(t, dir, Options{})
	i.indexSegment(t, 2)
	i.indexSegment(t, 3)
	n := 0
	i.backUp(t, dir, Options{Keep: 1, Progress: func(Progress) {
		n++
		if err := os.CopyFS(filepath.Join(states, fmt.Sprint(n)), os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
	}})
	if n < 5 {
		t.Fatalf("%d states", n)
	}
	for state := 1; state <= n; state++ {
		after := filepath.Join(states, fmt.Sprint(state))
		d, err := Open(after)
		if err != nil {
			t.Fatal(err)
		}
		if generation, err := d.Choose(0); err != nil || generation != 1 {
			t.Errorf("state %d: generation %d is taken for whole: %v", state, generation, err)
		}
		if err := restoreGeneration(t, after, 0, filepath.Join(t.TempDir(), "data")); err != nil {
			t.Errorf("state %d: %v", state, err)
		}
		second := i.backUp(t, after, Options{Keep: 1})
		if found := verifyNewest(t, after); second.Generation != 2 || len(found) > 0 {
			t.Errorf("state %d: generation %d, damages %v", state, second.Generation, found)
		}
		if left, err := filepath.Glob(filepath.Join(after, "*", tempPrefix+"*")); err != nil || len(left) > 0 {
			t.Errorf("state %d: %v is left: %v", state, left, err)
		}
	}
}

// TestRestoreDiesAfterAnyFile takes a snapshot of the target after each file: it does not
// count as complete, and the restore resumes, even if the last file is incomplete.
func TestRestoreDiesAfterAnyFile(t *testing.T) {
	i, dir, states := newInstallation(t), filepath.Join(t.TempDir(), "backups"), t.TempDir()
	i.indexSegment(t, 1)
	i.indexSegment(t, 2)
	i.backUp(t, dir, Options{})
	i.indexSegment(t, 3)
	i.backUp(t, dir, Options{})
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	data, n := filepath.Join(t.TempDir(), "data"), 0
	_, _, err = d.Restore(t.Context(), 2, targetIn(data), RestoreOptions{Progress: func(Progress) {
		n++
		if err := os.CopyFS(filepath.Join(states, fmt.Sprint(n)), os.DirFS(data)); err != nil {
			t.Fatal(err)
		}
	}})
	if err != nil || n < 5 {
		t.Fatalf("%d states: %v", n, err)
	}
	want := filesOf(t, data)
	for state := 1; state <= n; state++ {
		half := filepath.Join(states, fmt.Sprint(state))
		if err := CheckRestored(half); err == nil {
			t.Errorf("state %d: a server would start", state)
		}
		if err := restoreGeneration(t, dir, 1, half); err == nil {
			t.Errorf("state %d: another generation was restored over it", state)
		}
		for name, text := range filesOf(t, half) {
			if name != markerName && state%2 == 0 {
				writeFile(t, filepath.Join(half, name), text[:len(text)/2])
			}
		}
		if err := restoreGeneration(t, dir, 2, half); err != nil {
			t.Errorf("state %d: %v", state, err)
		}
		got := filesOf(t, half)
		if err := CheckRestored(half); err != nil || len(got) != len(want) {
			t.Errorf("state %d: %d files, want %d: %v", state, len(got), len(want), err)
		}
		for name, text := range want {
			if got[name] != text {
				t.Errorf("state %d: %s differs", state, name)
			}
		}
	}
}
