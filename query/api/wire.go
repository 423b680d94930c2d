package api

import (
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// wireOptional converts a position; nil becomes the zero Position, which is omitted.
func wireOptional(p *event.Position) wire.Position {
	if p == nil {
		return wire.Position{}
	}
	return wire.PositionOf(*p)
}
