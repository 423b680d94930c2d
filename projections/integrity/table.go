package integrity

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/quarrysearch/quarry/schemas/clock"
)

// CheckTable reads every block of the sorted table at path. It returns ErrDamaged with
// the path if a block is corrupted, and os.ErrNotExist if the file does not exist. The
// footer has no checksum; damage to it is detected when the table cannot be opened.
func CheckTable(ctx context.Context, path string, p *Pace) (err error) {
	f, err := vfs.Default.Open(path)
	if err != nil {
		return fmt.Errorf("check %s: %w", path, err)
	}
	defer func() {
		// A flipped bit in the footer may yield an impossible size.
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %s: %v", ErrDamaged, path, r)
		}
	}()
	readable, err := sstable.NewSimpleReadable(pacedFile{f, ctx, p})
	if err != nil {
		return errors.Join(fmt.Errorf("check %s: %w", path, err), f.Close())
	}
	r, err := sstable.NewReader(ctx, readable, sstable.ReaderOptions{})
	if err == nil {
		err = errors.Join(r.ValidateBlockChecksums(), r.Close())
	}
	switch {
	case err == nil, ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission), !pebble.IsCorruptionError(err) && isIO(err):
		return fmt.Errorf("check %s: %w", path, err)
	}
	return fmt.Errorf("%w: %s: %w", ErrDamaged, path, err)
}

// isIO reports whether the disk failed to read. An unreadable sector is damage as well,
// but a caller must not conclude that from one error.
func isIO(err error) bool {
	var path *os.PathError
	return errors.As(err, &path)
}

// pacedFile reads at a limited rate.
type pacedFile struct {
	vfs.File
	ctx  context.Context
	pace *Pace
}

// ReadAt implements io.ReaderAt.
func (f pacedFile) ReadAt(b []byte, at int64) (int, error) {
	if err := f.pace.Wait(f.ctx, len(b)); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, at)
}

// Stat implements sstable.ReadableFile.
func (f pacedFile) Stat() (vfs.FileInfo, error) { return f.File.Stat() }

// Pace limits the rate of reads. A nil Pace imposes no limit. It is not safe for
// concurrent use.
type Pace struct {
	bytesPerSecond float64
	// next is the time when the next byte may be read.
	next time.Time
	// read, if set, is called with the bytes of each read.
	read func(int)
}

// burst is how far reads may be ahead of the rate. A pause after each block of 16 KiB would
// wake the process hundreds of times a second, which costs more than the reads.
const burst = 50 * time.Millisecond

// NewPace returns a Pace of bytesPerSecond; 0 means no limit. It calls read with the size
// of each read.
func NewPace(bytesPerSecond int64, read func(bytes int)) *Pace {
	return &Pace{bytesPerSecond: float64(bytesPerSecond), read: read}
}

// Wait blocks until that many bytes may be read, or ctx ends. It lets reads run ahead by
// burst, and then waits until they no longer are.
func (p *Pace) Wait(ctx context.Context, bytes int) error {
	if p == nil {
		return ctx.Err()
	}
	if p.read != nil {
		p.read(bytes)
	}
	if p.bytesPerSecond <= 0 {
		return ctx.Err()
	}
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	wait := p.next.Sub(now)
	p.next = p.next.Add(time.Duration(float64(bytes) / p.bytesPerSecond * float64(time.Second)))
	if wait < burst {
		return ctx.Err()
	}
	return clock.Sleep(ctx, wait)
}
