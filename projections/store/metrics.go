package store

import (
	"context"
	"github.com/cockroachdb/pebble/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quarrysearch/quarry/projections/internal/registration"
)

// metrics reads Pebble's own metrics when it is scraped:
//
//	quarry_store_disk_bytes               files of the store
//	quarry_store_cache_bytes              block cache in use
//	quarry_store_cache_hits_total, …_misses_total
//	quarry_store_tables                   sstables
//	quarry_store_read_amplification       sorted runs that a read may touch
//	quarry_store_memtable_bytes
//	quarry_store_written_bytes_total{by}  bytes written: wal, flush, compaction; and ingest, which links
//	quarry_store_compactions_total, …_compaction_debt_bytes
//	quarry_store_ingests_total
//	quarry_store_snapshots                open snapshots
type metrics struct {
	group  *registration.Group
	source *Store
	gauges []gauge
}

type gauge struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	// label is the value of the label, if the metric has one.
	label []string
	read  func(m *pebble.Metrics) float64
}

func newMetrics(reg prometheus.Registerer, s *Store) *metrics {
	m := &metrics{group: registration.NewGroup(reg), source: s}
	add := func(kind prometheus.ValueType, name, help string, read func(m *pebble.Metrics) float64) {
		m.gauges = append(m.gauges, gauge{desc: prometheus.NewDesc("quarry_store_"+name, help, nil, nil), kind: kind, read: read})
	}
	written := prometheus.NewDesc("quarry_store_written_bytes_total",
		"Bytes written to the files of the store, by source: wal, flush or compaction; or ingest, for segments, which are linked rather than written.", []string{"by"}, nil)
	by := func(label string, read func(m *pebble.Metrics) float64) {
		m.gauges = append(m.gauges, gauge{written, prometheus.CounterValue, []string{label}, read})
	}
	const g, c = prometheus.GaugeValue, prometheus.CounterValue
	add(g, "disk_bytes", "Disk space used by the files of the store, as reported by du.", s.diskBytes)
	add(g, "cache_bytes", "Bytes in the block cache.", func(m *pebble.Metrics) float64 { return float64(m.BlockCache.Size) })
	add(c, "cache_hits_total", "Reads that the block cache answered.", func(m *pebble.Metrics) float64 { return float64(m.BlockCache.Hits) })
	add(c, "cache_misses_total", "Reads that went to a file.", func(m *pebble.Metrics) float64 { return float64(m.BlockCache.Misses) })
	add(g, "tables", "Number of sstables.", func(m *pebble.Metrics) float64 { t := m.Total(); return float64(t.TablesCount) })
	add(g, "read_amplification", "Sorted runs that a read may touch.", func(m *pebble.Metrics) float64 { return float64(m.ReadAmp()) })
	add(g, "memtable_bytes", "Bytes of rows not yet flushed.", func(m *pebble.Metrics) float64 { return float64(m.MemTable.Size) })
	by("wal", func(m *pebble.Metrics) float64 { return float64(m.WAL.BytesWritten) })
	// Total includes more than flushed bytes; all flushes go to level 0.
	by("flush", func(m *pebble.Metrics) float64 {
		l := &m.Levels[0]
		return float64(l.TableBytesFlushed + l.BlobBytesFlushed)
	})
	by("compaction", func(m *pebble.Metrics) float64 {
		t := m.Total()
		return float64(t.TableBytesCompacted + t.BlobBytesCompacted)
	})
	by("ingest", func(m *pebble.Metrics) float64 { t := m.Total(); return float64(t.TableBytesIngested) })
	add(c, "compactions_total", "Compactions done.", func(m *pebble.Metrics) float64 { return float64(m.Compact.Count) })
	add(g, "compaction_debt_bytes", "Bytes that compactions still have to rewrite.", func(m *pebble.Metrics) float64 { return float64(m.Compact.EstimatedDebt) })
	add(c, "ingests_total", "Segments ingested and key ranges excised.", func(m *pebble.Metrics) float64 { return float64(m.Ingest.Count) })
	add(g, "snapshots", "Open snapshots.", func(m *pebble.Metrics) float64 { return float64(m.Snapshots.Count) })
	m.group.MustRegister(m)
	return m
}

// diskBytes returns the disk space of the store's files. Pebble's own metric does not
// include preallocated space; it is used for in-memory stores.
func (s *Store) diskBytes(m *pebble.Metrics) float64 {
	if n, err := DiskBytes(context.Background(), s.dir); err == nil && s.onDisk {
		return float64(n)
	}
	return float64(m.DiskSpaceUsage())
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for i := range m.gauges {
		if i == 0 || m.gauges[i].desc != m.gauges[i-1].desc {
			ch <- m.gauges[i].desc
		}
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	now := m.source.db.Metrics()
	for i := range m.gauges {
		g := &m.gauges[i]
		ch <- prometheus.MustNewConstMetric(g.desc, g.kind, g.read(now), g.label...)
	}
}
