package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Explain runs a search and returns, in one line, where its time went and what it read.
func (s *QuarryServer) Explain(ctx context.Context, q Request) (string, error) {
	request := requestFor(q)
	request.Explain = true
	var reply struct {
		Explain struct {
			Stages   map[string]int64 `json:"stages"`
			Segments []struct {
				FilesConsidered int   `json:"filesConsidered"`
				Lists           int   `json:"lists"`
				IndexBytes      int64 `json:"indexBytes"`
				ContentBytes    int64 `json:"contentBytes"`
				ScannedBytes    int64 `json:"scannedBytes"`
			} `json:"segments"`
			Stopped string `json:"stopped"`
			Probes  []struct {
				Query  string `json:"query"`
				Micros int64  `json:"micros"`
			} `json:"probes"`
		} `json:"explain"`
	}
	if _, err := s.postSearch(ctx, request, &reply); err != nil {
		return "", err
	}
	var parts []string
	for stage, micros := range reply.Explain.Stages {
		if micros > 0 {
			parts = append(parts, fmt.Sprintf("%s %d µs", strings.TrimSuffix(stage, "Micros"), micros))
		}
	}
	slices.Sort(parts)
	var files, lists int
	var index, content, scanned int64
	for _, segment := range reply.Explain.Segments {
		files, lists = files+segment.FilesConsidered, lists+segment.Lists
		index, content, scanned = index+segment.IndexBytes, content+segment.ContentBytes, scanned+segment.ScannedBytes
	}
	parts = append(parts, fmt.Sprintf("%d segments, %d lists of %d kB, %d files, %d kB of frames, %d kB scanned",
		len(reply.Explain.Segments), lists, index>>10, files, content>>10, scanned>>10))
	for _, p := range reply.Explain.Probes {
		parts = append(parts, fmt.Sprintf("then %q %d µs", p.Query, p.Micros))
	}
	if reply.Explain.Stopped != "" {
		parts = append(parts, "stopped: "+reply.Explain.Stopped)
	}
	return strings.Join(parts, "; "), nil
}
