package deadletters

import "context"

// Hold sets the bound of the letters that are held, and returns what sets it back.
func Hold(n int) (reset func()) {
	maxHeld = n
	return func() { maxHeld = MaxHeld }
}

// Refill holds letters again for which there is room.
func (f *Follower) Refill(ctx context.Context) error { return f.refillHeld(ctx) }
