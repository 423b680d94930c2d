package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sampleFolders are the parts of a data directory that a release must be able to take
// over. Mirrors are fetched again, and tokens made again.
var sampleFolders = []string{"accounts", "log", "projections", "segments", "secret.key"}

// packSample writes a data directory as an archive, with the note, and without names,
// times and modes of this machine.
func packSample(out, data string, note *sampleNote) (err error) {
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	defer func() { err = errors.Join(err, w.Close(), z.Close(), f.Close()) }()
	b, err := json.MarshalIndent(note, "", "  ")
	if err != nil {
		return err
	}
	if err := packFile(w, "SAMPLE.json", append(b, '\n')); err != nil {
		return err
	}
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
		return packFile(w, name, b)
	})
}

func packFile(w *tar.Writer, name string, text []byte) error {
	if err := w.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o600, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err := w.Write(text)
	return err
}
