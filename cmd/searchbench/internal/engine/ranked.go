package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// rankedFiles is the number of files that zoekt shows. zoekt still searches everything,
// because it ranks what it has seen.
const rankedFiles = 100

// Ranked returns the files of an answer in order. The search looks for the given number
// of matches and shows display of them.
func (s *QuarryServer) Ranked(ctx context.Context, text string, matches, display int) ([]Place, error) {
	data, _, err := s.postSearch(ctx, quarrySearch{Query: text, Matches: matches, Display: display})
	if err != nil {
		return nil, err
	}
	var reply struct {
		Files []struct {
			FileName   struct{ Text string } `json:"fileName"`
			Repository string                `json:"repository"`
		} `json:"files"`
	}
	if err := json.Unmarshal(data, &reply); err != nil {
		return nil, fmt.Errorf("quarry: decode answer to %s: %w", text, err)
	}
	places := make([]Place, len(reply.Files))
	for i, f := range reply.Files {
		places[i] = Place{Repository: f.Repository, Path: f.FileName.Text}
	}
	return places, nil
}

// ConnectZoekt returns a running webserver that someone else started.
func ConnectZoekt(address string) *ZoektServer {
	return &ZoektServer{url: strings.TrimSuffix(address, "/"), client: newHTTPClient()}
}

// Ranked returns the files of an answer in order, by zoekt's default score or by its BM25
// score.
func (s *ZoektServer) Ranked(ctx context.Context, text string, bm25 bool) ([]Place, error) {
	opts := map[string]any{"ChunkMatches": true, "MaxDocDisplayCount": rankedFiles, "MaxWallTime": queryTimeout, "UseBM25Scoring": bm25}
	body, err := json.Marshal(map[string]any{"Q": text, "Opts": opts})
	if err != nil {
		return nil, err
	}
	data, _, err := roundTrip(ctx, s.client, http.MethodPost, s.url+"/api/search", jsonHeader(), body)
	if err != nil {
		return nil, err
	}
	var reply struct {
		Result struct {
			Files []struct{ FileName, Repository string }
		}
	}
	if err := json.Unmarshal(data, &reply); err != nil {
		return nil, fmt.Errorf("zoekt: decode answer to %s: %w", text, err)
	}
	places := make([]Place, len(reply.Result.Files))
	for i, f := range reply.Result.Files {
		places[i] = Place{Repository: f.Repository, Path: f.FileName}
	}
	return places, nil
}
