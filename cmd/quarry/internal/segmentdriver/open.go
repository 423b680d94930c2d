package segmentdriver

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/projections/segmentstore"
)

// Open opens the segment store. The metrics of a command, which nothing collects, are nil.
func Open(ctx context.Context, c *config.Config, metrics *segmentstore.BucketMetrics, logger *slog.Logger) (segmentstore.Driver, error) {
	if !c.SegmentsInBucket() {
		return segmentstore.OpenDirectory(c.SegmentsDir())
	}
	if metrics == nil {
		metrics = segmentstore.NewBucketMetrics(nil)
	}
	bucket, folder := c.SegmentsBucket()
	s3 := &c.Storage.S3
	o := segmentstore.BucketOptions{
		Endpoint: s3.Endpoint, Region: s3.Region, Bucket: bucket, Prefix: folder, PathStyle: s3.PathStyle, CAFile: s3.CAFile,
		AccessKeyID: s3.AccessKeyID, Encryption: s3.Encryption, KMSKeyID: s3.KMSKeyID,
		TempDir: c.TempDir(), Metrics: metrics, Logger: logger,
	}
	if !s3.SecretAccessKey.IsZero() {
		var err error
		if o.SecretAccessKey, err = s3.SecretAccessKey.Value(); err != nil {
			return nil, fmt.Errorf("storage.s3.secretAccessKey: %w", err)
		}
	}
	return segmentstore.OpenBucket(ctx, o)
}
