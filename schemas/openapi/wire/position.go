package wire

import (
	"fmt"

	"github.com/quarrysearch/quarry/schemas/event"
)

// PositionOf converts a position.
func PositionOf(p event.Position) Position {
	return Position{Topic: string(p.Topic), Partition: int(p.Partition), Offset: int64(p.Offset)}
}

// PositionsOf converts positions. The result is never nil.
func PositionsOf(positions []event.Position) []Position {
	out := make([]Position, len(positions))
	for i, p := range positions {
		out[i] = PositionOf(p)
	}
	return out
}

// String returns topic/partition/offset.
func (p Position) String() string { return fmt.Sprintf("%s/%d/%d", p.Topic, p.Partition, p.Offset) }

// IsZero reports whether p is the zero Position, which means that it is absent.
func (p Position) IsZero() bool { return p == Position{} }

// Reached reports whether p is at or after q in the same partition.
func (p Position) Reached(q Position) bool {
	return !p.IsZero() && p.Partition == q.Partition && p.Offset >= q.Offset
}
