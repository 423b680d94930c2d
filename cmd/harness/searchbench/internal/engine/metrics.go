package engine

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Metrics returns the samples of a server, by name with labels, and the sum of each
// name's samples by name alone.
func (s *QuarryServer) Metrics(ctx context.Context) (map[string]float64, error) {
	data, _, err := roundTrip(ctx, s.client, http.MethodGet, s.metricsURL+"/metrics", http.Header{}, nil)
	if err != nil {
		return nil, err
	}
	return ParseMetrics(bytes.NewReader(data))
}

// ParseMetrics parses the text format of Prometheus: NAME{LABELS} VALUE.
func ParseMetrics(r io.Reader) (map[string]float64, error) {
	sums := map[string]float64{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		space := strings.LastIndexByte(line, ' ')
		if space < 0 || line[0] == '#' {
			continue
		}
		name, _, _ := strings.Cut(line[:space], "{")
		value, err := strconv.ParseFloat(line[space+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("metrics: %q: %w", line, err)
		}
		sums[name] += value
		if name != line[:space] {
			sums[line[:space]] = value
		}
	}
	return sums, lines.Err()
}
