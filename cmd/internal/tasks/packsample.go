package main

import (
	"archive/tar"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sampleFolders are the parts of a data directory that a release must be able to open.
// Mirrors are fetched again, and tokens recreated.
var sampleFolders = []string{"accounts", "log", "projections", "segments", "secret.key"}

// packSample writes a data directory and the note as an archive, without the names, times
// and modes of this machine.
func packSample(out, data string, note *sampleNote) error {
	return writeArchive(out, func(w *tar.Writer) error {
		b, err := json.MarshalIndent(note, "", "  ")
		if err != nil {
			return err
		}
		if err := packFile(w, &tar.Header{Name: "SAMPLE.json", Mode: 0o600}, append(b, '\n')); err != nil {
			return err
		}
		return packSampleFolders(w, data)
	})
}

func packSampleFolders(w *tar.Writer, data string) error {
	return filepath.WalkDir(data, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(data, path)
		if err != nil {
			return err
		}
		first, _, _ := strings.Cut(name, string(filepath.Separator))
		switch {
		case name != "." && !slices.Contains(sampleFolders, first):
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case !e.Type().IsRegular() || e.Name() == "LOCK":
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return packFile(w, &tar.Header{Name: filepath.ToSlash(name), Mode: 0o600}, b)
	})
}
