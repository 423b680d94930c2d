package auth

import (
	"context"

	"github.com/quarrysearch/quarry/schemas/audit"
)

// Recorder writes entries to the audit log.
type Recorder interface {
	// Record returns once rec is durable.
	Record(ctx context.Context, rec audit.Record) error
}
