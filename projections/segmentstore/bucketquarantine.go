package segmentstore

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/quarrysearch/quarry/projections/integrity"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Check implements Store. It downloads the object to TempDir.
func (b *Bucket) Check(ctx context.Context, name string, p *integrity.Pace) error {
	_, err := b.check(ctx, name, p)
	return err
}

// unboundedBytes is a size for which a request is never too slow.
const unboundedBytes = 1 << 45

// check is Check, and returns the object's ETag as it was before the download.
func (b *Bucket) check(ctx context.Context, name string, p *integrity.Pace) (etag string, err error) {
	err = b.request(ctx, "check", name, func(ctx context.Context, extend func(int64)) error {
		info, err := b.core.StatObject(ctx, b.o.Bucket, b.key(name), minio.StatObjectOptions{})
		if err != nil {
			return err
		}
		etag = info.ETag
		if err := os.MkdirAll(b.o.TempDir, 0o700); err != nil {
			return err
		}
		out, err := os.CreateTemp(b.o.TempDir, tempPrefix)
		if err != nil {
			return err
		}
		defer func() { _ = os.Remove(out.Name()) }() // the directory is emptied at the start
		err = b.downloadFile(ctx, name, out, p, func(size int64) {
			if p != nil {
				size = unboundedBytes // the pace decides
			}
			extend(size)
		})
		if err := errors.Join(err, out.Close()); err != nil {
			return err
		}
		return checkObject(ctx, name, out.Name(), nil)
	})
	return etag, err
}

// quarantinePrefix is the folder of damaged objects, below the prefix of the store.
const quarantinePrefix = quarantineDir + "/"

// Quarantine implements Store. The server has no operation that moves an object only if it
// has not changed, so an intact object that is stored between the last look and the removal
// is lost, and stored again by the next check of the store.
func (b *Bucket) Quarantine(ctx context.Context, name string) (bool, error) {
	etag, cause := b.check(ctx, name, nil)
	if !errors.Is(cause, ErrCorrupt) {
		if errors.Is(cause, code.ErrNotFound) {
			cause = nil
		}
		return false, cause
	}
	target := quarantinePath("", name, time.Now())
	moved := false
	err := b.request(ctx, "quarantine", name, func(ctx context.Context, _ func(int64)) error {
		_, err := b.core.Client.CopyObject(ctx,
			minio.CopyDestOptions{Bucket: b.o.Bucket, Object: b.prefix + target, Encryption: b.sse},
			minio.CopySrcOptions{Bucket: b.o.Bucket, Object: b.key(name), MatchETag: etag})
		if isMissing(err) || isPrecondition(err) {
			return nil // another process was faster
		}
		if err != nil {
			return err
		}
		info, err := b.core.StatObject(ctx, b.o.Bucket, b.key(name), minio.StatObjectOptions{})
		if isMissing(err) || err == nil && info.ETag != etag {
			return nil
		}
		if err == nil {
			err = b.core.RemoveObject(ctx, b.o.Bucket, b.key(name), minio.RemoveObjectOptions{})
		}
		moved = err == nil
		return err
	})
	if err != nil || !moved {
		return false, err
	}
	b.quarantined(name, b.address+target, cause)
	return true, b.pruneQuarantine(ctx, time.Now())
}

// EmptyQuarantine implements Driver.
func (b *Bucket) EmptyQuarantine(ctx context.Context) (int, error) {
	return b.removeQuarantined(ctx, "")
}

// removeQuarantined removes the damaged objects whose names begin with prefix.
func (b *Bucket) removeQuarantined(ctx context.Context, prefix string) (n int, err error) {
	for info, err := range b.list(ctx, b.prefix+quarantinePrefix+prefix) {
		if err == nil {
			err = b.core.RemoveObject(ctx, b.o.Bucket, b.key(info.Name), minio.RemoveObjectOptions{})
		}
		if err != nil {
			return n, b.explain(err)
		}
		n++
	}
	return n, nil
}

// pruneQuarantine removes damaged objects beyond the bounds, oldest first.
func (b *Bucket) pruneQuarantine(ctx context.Context, now time.Time) error {
	var names []string
	for info, err := range b.list(ctx, b.prefix+quarantinePrefix) {
		if err != nil {
			return err
		}
		names = append(names, info.Name)
	}
	for _, name := range quarantineBeyondBounds(names, now) {
		if err := b.core.RemoveObject(ctx, b.o.Bucket, b.key(name), minio.RemoveObjectOptions{}); err != nil {
			return b.explain(err)
		}
	}
	return nil
}
