package api

import (
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// wirePosition converts a position.
func wirePosition(p event.Position) wire.Position {
	return wire.Position{Topic: string(p.Topic), Partition: int(p.Partition), Offset: int64(p.Offset)}
}

// wireOptional converts a position; nil becomes the zero Position, which is omitted.
func wireOptional(p *event.Position) wire.Position {
	if p == nil {
		return wire.Position{}
	}
	return wirePosition(*p)
}
