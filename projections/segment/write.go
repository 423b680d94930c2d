package segment

import (
	"os"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/quarrysearch/quarry/projections/postings"
)

// TableFormat is the format major version of a segment's table. A store that ingests
// segments must use it or a later one.
const TableFormat = pebble.FormatColumnarBlocks

// tableBlockBytes is less than the size of a frame or page, so that each has its own
// table block, and reading one does not read others.
const tableBlockBytes = 16 << 10

// writerOptions disables compression of values: frames and symbols are already
// compressed, and packed postings do not shrink.
func writerOptions() sstable.WriterOptions {
	o := &pebble.Options{FormatMajorVersion: TableFormat}
	o.EnsureDefaults()
	w := o.MakeWriterOptions(6, TableFormat.MaxTableFormat())
	w.BlockSize, w.IndexBlockSize = tableBlockBytes, tableBlockBytes
	w.Compression = sstable.NoCompression
	w.FilterPolicy = nil
	return w
}

// write writes the table of the segment and returns its size.
func (b *Builder) write(path string, id ID) (int64, error) {
	f, err := vfs.Default.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return 0, err
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), writerOptions())
	if err := b.writeParts(w, id); err != nil {
		_ = w.Close()
		_ = os.Remove(path)
		return 0, err
	}
	if err := w.Close(); err != nil { // syncs
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// writeParts writes the parts in the order of their keys.
func (b *Builder) writeParts(w *sstable.Writer, id ID) error {
	if err := w.Set(partKey(id, partDocuments), b.rows); err != nil {
		return err
	}
	var group []byte // Set copies it
	for i := 0; i < len(b.frames); i += groupFrames {
		group = packGroup(group[:0], b.frames[i:min(i+groupFrames, len(b.frames))])
		if err := w.Set(numberedKey(id, partFrame, uint32(i/groupFrames)), group); err != nil {
			return err
		}
	}
	if b.grams != nil {
		if err := w.Set(partKey(id, partGrams), b.grams.AppendFilter(nil)); err != nil {
			return err
		}
	}
	pages, dir := b.packPages()
	definitions, first := b.defined.packPages()
	b.head.definitions = first
	b.head.lists = dir.lists
	b.head.languages, b.head.kinds = b.languages.names, b.symbols.kinds.names
	b.head.groupFirst = b.symbols.first
	if err := w.Set(partKey(id, partHeader), b.head.encode()); err != nil {
		return err
	}
	if err := w.Set(partKey(id, partKeys), b.blobs); err != nil {
		return err
	}
	for i, page := range definitions {
		if err := w.Set(numberedKey(id, partDefinitions, uint32(i)), page); err != nil {
			return err
		}
	}
	for i, page := range pages {
		if err := w.Set(numberedKey(id, partPage, uint32(i)), page); err != nil {
			return err
		}
	}
	for c, column := range b.runs {
		if err := w.Set(numberedKey(id, partRuns, uint32(c)), column); err != nil {
			return err
		}
	}
	if err := w.Set(partKey(id, partDirectory), dir.encoded); err != nil {
		return err
	}
	for i, group := range b.symbols.groups {
		if err := w.Set(numberedKey(id, partSymbols, uint32(i)), group); err != nil {
			return err
		}
	}
	return nil
}

// packPages encodes the posting lists, packed into pages.
func (b *Builder) packPages() (pages [][]byte, dir *directoryBuilder) {
	dir = &directoryBuilder{}
	b.head.pageStart = []uint32{0}
	page := make([]byte, 0, PageBytes+PageBytes/2)
	seal := func() {
		pages = append(pages, append([]byte(nil), page...))
		b.head.pageStart = append(b.head.pageStart, dir.end)
		page = page[:0]
	}
	for t, blocks := range b.postings.Lists() {
		before := len(page)
		page = postings.AppendList(page, blocks)
		dir.add(t, len(page)-before)
		if len(page) >= PageBytes {
			seal()
		}
	}
	if len(page) > 0 {
		seal()
	}
	return pages, dir
}
