package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// removeOldGenerations removes the oldest generations until keep are left, and then the
// objects that no generation names. It removes manifests first, so that no manifest ever
// lacks an object.
func (d *Directory) removeOldGenerations(generations []int, keep int) (removed []int, err error) {
	if keep <= 0 {
		return nil, nil
	}
	if old := len(generations) - keep; old > 0 {
		removed = generations[:old]
	}
	for _, generation := range removed {
		if err := os.Remove(d.manifestPath(generation)); err != nil {
			return nil, err
		}
	}
	if err := syncDirectory(d.generationsPath()); err != nil {
		return removed, err
	}
	return removed, d.removeUnnamedObjects(generations[len(removed):])
}

// removeUnnamedObjects removes the objects that no generation names. It removes nothing
// if a manifest cannot be read.
func (d *Directory) removeUnnamedObjects(generations []int) error {
	named := map[Sum]struct{}{}
	for _, generation := range generations {
		_, _, err := readManifest(d.manifestPath(generation), func(f File) error {
			named[f.SHA256] = struct{}{}
			return nil
		})
		if err != nil {
			return fmt.Errorf("generation %d: %w; remove this file if you give the generation up", generation, err)
		}
	}
	folders, err := os.ReadDir(d.objectsPath())
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		if err := removeUnnamedIn(filepath.Join(d.objectsPath(), folder.Name()), named); err != nil {
			return err
		}
	}
	return nil
}

func removeUnnamedIn(dir string, named map[Sum]struct{}) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		var s Sum
		if s.UnmarshalText([]byte(e.Name())) != nil {
			continue // not one of our files
		}
		if _, ok := named[s]; ok {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
