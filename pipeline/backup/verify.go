package backup

import (
	"context"
	"fmt"
)

// Damage describes a file of a backup whose bytes have changed.
type Damage struct {
	Path   string // path in the generation
	Object string // path of the damaged file
	Reason string
}

// Verify reads every object of a generation and calls report for each damaged one.
func (d *Directory) Verify(ctx context.Context, generation int, report func(Damage), progress func(Progress)) (Manifest, Totals, error) {
	head, totals, err := d.Describe(generation)
	if err != nil {
		return head, totals, err
	}
	done := Progress{FilesTotal: totals.Files}
	_, _, err = readManifest(d.manifestPath(generation), func(f File) error {
		object := d.objectPath(f.SHA256)
		sum, size, err := hashFile(ctx, object)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case err != nil:
			report(Damage{f.Path, object, err.Error()})
		case size != f.Size || sum != f.SHA256:
			report(Damage{f.Path, object, fmt.Sprintf("%d bytes with another checksum, want %d", size, f.Size)})
		}
		done.Files++
		done.Bytes += f.Size
		progress(done)
		return nil
	})
	return head, totals, err
}
