package deadletters

import "context"

// Hold sets the bound of held dead letters, and returns a function that resets it.
func Hold(n int) (reset func()) {
	maxHeld = n
	return func() { maxHeld = MaxHeld }
}

// Refill loads dead letters again for which there is room.
func (f *Follower) Refill(ctx context.Context) error { return f.refillHeld(ctx) }
