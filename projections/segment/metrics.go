package segment

import "github.com/prometheus/client_golang/prometheus"

// Collectors returns the metrics of the cache, which the caller must register:
//
//	quarry_segment_frames_bytes            cached decompressed text
//	quarry_segment_frames_held             cached frames that searches are reading
//	quarry_segment_frames_hits_total, …_misses_total, …_evictions_total
func (c *Cache) Collectors() []prometheus.Collector {
	gauge := func(name, help string, read func(s *CacheStats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "quarry_segment_frames_" + name, Help: help}, func() float64 {
			s := c.Stats()
			return read(&s)
		})
	}
	counter := func(name, help string, read func(s *CacheStats) uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "quarry_segment_frames_" + name, Help: help}, func() float64 {
			s := c.Stats()
			return float64(read(&s))
		})
	}
	return []prometheus.Collector{
		gauge("bytes", "Bytes of decompressed text and symbols in the cache.", func(s *CacheStats) float64 { return float64(s.Bytes) }),
		gauge("held", "Cached frames that searches are reading now.", func(s *CacheStats) float64 { return float64(s.Held) }),
		counter("hits_total", "Frames of text and groups of symbols found in the cache.", func(s *CacheStats) uint64 { return s.Hits }),
		counter("misses_total", "Frames of text and groups of symbols not found in the cache.", func(s *CacheStats) uint64 { return s.Misses }),
		counter("evictions_total", "Frames of text and groups of symbols evicted from the cache.", func(s *CacheStats) uint64 { return s.Evictions }),
	}
}
