package bench

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/quarrysearch/quarry/cmd/searchbench/internal/corpus"
	"github.com/quarrysearch/quarry/cmd/searchbench/internal/machine"
)

// sampleBytes is the size of the text that represents all sources. It exceeds the caches
// near a core.
const sampleBytes = 16 << 20

var errNoText = errors.New("the checkouts hold no text to measure with")

// measureMachine measures the memory bandwidth of this machine.
func (b *bench) measureMachine() {
	sample, err := sampleText(corpus.TreePath(b.Corpora, b.chosenRepositories()[0].Name), sampleBytes)
	if err == nil && len(sample) == 0 {
		err = errNoText
	}
	if err != nil {
		b.noteMissing("the speed of memory: %v", err)
		return
	}
	b.bandwidth = machine.MeasureBandwidth(sample, b.BandwidthBytes)
}

// sampleText reads files below root, in the order of their names, until it has size bytes
// or there are no more files.
func sampleText(root string, size int) ([]byte, error) {
	var sample []byte
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if sample = append(sample, content...); len(sample) >= size {
			return filepath.SkipAll
		}
		return err
	})
	return sample, err
}
