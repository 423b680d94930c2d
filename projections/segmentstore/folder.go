package segmentstore

import (
	"path/filepath"
	"time"
)

// Folder implements Driver.
func (d *Directory) Folder(name string) Store {
	f := &Directory{dir: filepath.Join(d.dir, name), identity: d.identity, quarantined: d.quarantined}
	_ = f.removeLeftovers(time.Now().Add(-tempAge)) // the next start tries again
	return f
}

// Folder implements Driver.
func (b *Bucket) Folder(name string) Store {
	return &Bucket{
		o: b.o, core: b.core, prefix: b.prefix + name + "/", address: b.address + name + "/", sse: b.sse, identity: b.identity, quarantined: b.quarantined,
	}
}
