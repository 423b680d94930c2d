package audit

import "context"

// Seal appends a seal now if one is due.
func (s *Sealer) Seal(ctx context.Context) error { return s.appendSeal(ctx) }
