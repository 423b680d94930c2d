package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/quarrysearch/quarry/schemas/openapi/wire"
)

// FindDefinitions returns the definitions of a symbol.
func (s *QuarryServer) FindDefinitions(ctx context.Context, r wire.FindSymbolsRequest) (*wire.FindSymbolsResponse, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	data, _, err := roundTrip(ctx, s.client, http.MethodPost, s.url+"/api/find_definitions", jsonHeader(), body)
	if err != nil {
		return nil, err
	}
	var out wire.FindSymbolsResponse
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("quarry: decode definitions of %s: %w", r.SymbolName, err)
	}
	return &out, nil
}
