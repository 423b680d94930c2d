package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestNoticesIsCurrent compares the committed notices with the linked modules.
func TestNoticesIsCurrent(t *testing.T) {
	const root = "../../.."
	want, err := collectNotices(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, noticesFile)
	if os.Getenv("QUARRY_GENERATE") != "" {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is not what the linked modules say; run make generate", noticesFile)
	}
}

// legalFiles matches the names of files that a module's license requires us to
// distribute.
var legalFiles = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)(\.(txt|md))?$`)

// linkedModule is a module with a package in the binary.
type linkedModule struct{ Path, Version, Dir string }

// listLinkedModules returns the modules of the binary on all platforms, with and without
// cgo, sorted by path.
func listLinkedModules(ctx context.Context, root string) ([]linkedModule, error) {
	byPath := map[string]linkedModule{}
	for _, platform := range platforms {
		for _, cgo := range []string{"0", "1"} {
			system, processor, _ := strings.Cut(platform, "/")
			list := newCommand(ctx, root, "go", "list", "-deps", "-json=Module", "./cmd/quarry")
			list.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED="+cgo)
			list.Stdout = nil
			out, err := list.Output()
			if err != nil {
				return nil, fmt.Errorf("go list for %s: %w", platform, err)
			}
			for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
				var p struct{ Module *linkedModule }
				if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					return nil, fmt.Errorf("decode go list: %w", err)
				}
				if p.Module != nil && p.Module.Version != "" {
					byPath[p.Module.Path] = *p.Module
				}
			}
		}
	}
	modules := make([]linkedModule, 0, len(byPath))
	for _, m := range byPath {
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b linkedModule) int { return strings.Compare(a.Path, b.Path) })
	return modules, nil
}

// collectNotices returns the legal files of all linked modules. Each text appears once,
// below the modules that contain it. A module without a license is an error, because it
// may not be distributed.
func collectNotices(ctx context.Context, root string) ([]byte, error) {
	modules, err := listLinkedModules(ctx, root)
	if err != nil {
		return nil, err
	}
	owners := map[[sha256.Size]byte][]string{}
	texts := map[[sha256.Size]byte][]byte{}
	var order [][sha256.Size]byte
	for _, m := range modules {
		entries, err := os.ReadDir(m.Dir)
		if err != nil {
			return nil, err
		}
		found := false
		for _, e := range entries {
			if !e.Type().IsRegular() || !legalFiles.MatchString(e.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(m.Dir, e.Name()))
			if err != nil {
				return nil, err
			}
			text = bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
			sum := sha256.Sum256(text)
			if texts[sum] == nil {
				texts[sum] = text
				order = append(order, sum)
			}
			owners[sum] = append(owners[sum], m.Path+" "+m.Version)
			found = true
		}
		if !found {
			return nil, fmt.Errorf("%s %s has no license file: %w", m.Path, m.Version, os.ErrNotExist)
		}
	}
	var b bytes.Buffer
	b.WriteString("Quarry contains the modules below, each under the license that follows it.\nWritten by \"make generate\" from the modules that are linked into the binary.\n")
	for _, sum := range order {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(owners[sum], "\n"), texts[sum])
	}
	return b.Bytes(), nil
}
