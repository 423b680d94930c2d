package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// testSample writes a sample with the server of this tree, and reads it.
func testSample(t *testing.T, binary string) {
	dir := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	s := &sampleServer{
		u:      &upgradeSampleTask{Repositories: filepath.Join(dir, "git"), Listen: address},
		quarry: binary, data: filepath.Join(dir, "data"), base: "http://" + address,
		repositories: sampleRepositories(),
	}
	s.note.Commit = "of this tree"
	if err := errors.Join(s.runServer(t.Context(), s.indexRepositories), s.runServer(t.Context(), s.makeAccounts)); err != nil {
		log, _ := os.ReadFile(s.logPath())
		t.Fatalf("write the sample: %v\n%s", err, log)
	}
	out := filepath.Join(dir, "sample.tar.gz")
	if err := packSample(out, s.data, &s.note); err != nil {
		t.Fatalf("pack the sample: %v", err)
	}
	names, note := readSample(t, out)
	if note.Commit != s.note.Commit || !strings.HasPrefix(note.Key, "sbk_") || note.Email == "" || note.Password == "" {
		t.Errorf("SAMPLE.json is %+v, want the commit, a key and a person who can sign in", note)
	}
	for _, folder := range sampleFolders {
		if !slices.ContainsFunc(names, func(n string) bool { return n == folder || strings.HasPrefix(n, folder+"/") }) {
			t.Errorf("the sample has nothing of %s, only %q", folder, names)
		}
	}
	for _, n := range names {
		if first, _, _ := strings.Cut(n, "/"); n != "SAMPLE.json" && !slices.Contains(sampleFolders, first) || filepath.Base(n) == "LOCK" {
			t.Errorf("the sample has %s, which a server makes again", n)
		}
	}
}

// readSample returns the file names of a sample, and its note.
func readSample(t *testing.T, path string) (names []string, note sampleNote) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // it is read only
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names, note
		}
		if err != nil {
			t.Fatal(err)
		}
		if names = append(names, h.Name); h.Name == "SAMPLE.json" {
			if err := json.NewDecoder(r).Decode(&note); err != nil {
				t.Fatalf("SAMPLE.json: %v", err)
			}
		}
	}
}
