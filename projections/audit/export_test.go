package audit

import "context"

// Seal seals now if that is due.
func (s *Sealer) Seal(ctx context.Context) error { return s.appendSeal(ctx) }
