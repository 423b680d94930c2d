package api

import (
	"github.com/quarrysearch/quarry/schemas/event"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// wirePosition returns a position as it is answered.
func wirePosition(p event.Position) wire.Position {
	return wire.Position{Topic: string(p.Topic), Partition: int(p.Partition), Offset: int64(p.Offset)}
}

// wireOptional returns the zero Position, which is left out, for nil.
func wireOptional(p *event.Position) wire.Position {
	if p == nil {
		return wire.Position{}
	}
	return wirePosition(*p)
}
