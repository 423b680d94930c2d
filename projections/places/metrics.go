package places

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/quarrysearch/quarry/projections/internal/registration"
)

// outcomeAbsent is the label value for a segment that is missing in the segment store.
const outcomeAbsent = "segment_absent"

// metrics are:
//
//	quarry_places_broken_total{reason}           events that did not apply: duplicate, unregistered, wrong_base, changes_absent,
//	                                             merge_repeated, merge_refused, merge_of_other_partition, segment_absent
//	quarry_places_broken_refs                    refs whose last event did not apply, until they are re-indexed
//	quarry_places_segments                       live segments
//	quarry_places_documents, …_live_documents    documents in them, and those that a manifest names
//	quarry_places_text_bytes, …_live_text_bytes  their text
//	quarry_places_unheld_documents               documents that a manifest names and no segment holds
//	quarry_places_views_total                    publications
//	quarry_places_doomed_segments                merged segments that a view still references
//	quarry_places_removed_text_bytes             dead text in segments with text of removed repositories and branches
//	quarry_places_removed_text_age_seconds       time since the oldest removal whose text is still on disk
//	quarry_places_excised_total                  segments removed
//	quarry_places_revision_hits_total, …_misses_total, …_cache_bytes
//
// and the metrics of the frame cache, segment.Cache.
type metrics struct {
	group                                 *registration.Group
	broken                                *prometheus.CounterVec
	excised, revisionHits, revisionMisses prometheus.Counter
}

func newMetrics(reg prometheus.Registerer, p *Places) *metrics {
	group := registration.NewGroup(reg)
	auto := promauto.With(group)
	counter := func(name, help string) prometheus.Counter {
		return auto.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		group: group,
		broken: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "quarry_places_broken_total",
			Help: "Events, or parts of events, that could not be applied, by reason. After wrong_base, changes_absent or segment_absent the ref is re-indexed; the other reasons are harmless.",
		}, []string{"reason"}),
		excised:        counter("quarry_places_excised_total", "Merged segments removed from the store."),
		revisionHits:   counter("quarry_places_revision_hits_total", "Queries with a rev: filter answered from the cache."),
		revisionMisses: counter("quarry_places_revision_misses_total", "Queries with a rev: filter that read manifests."),
	}
	for _, reason := range []string{"duplicate", "unregistered", "wrong_base", string(outcomeChangesAbsent), outcomeRepeated, outcomeLost, outcomePartition, outcomeAbsent} {
		m.broken.WithLabelValues(reason)
	}
	group.MustRegister(newStateCollector(p))
	if p.cache != nil {
		group.MustRegister(p.cache.Collectors()...)
	}
	return m
}

// stateCollector reads its values from the current View.
type stateCollector struct {
	p      *Places
	gauges []stateGauge
	views  *prometheus.Desc
}

type stateGauge struct {
	desc *prometheus.Desc
	read func(v *View, infos []SegmentInfo) float64
}

func newStateCollector(p *Places) *stateCollector {
	s := &stateCollector{p: p, views: prometheus.NewDesc("quarry_places_views_total", "Views published.", nil, nil)}
	add := func(name, help string, read func(v *View, infos []SegmentInfo) float64) {
		s.gauges = append(s.gauges, stateGauge{prometheus.NewDesc("quarry_places_"+name, help, nil, nil), read})
	}
	sum := func(name, help string, of func(i *SegmentInfo) int64) {
		add(name, help, func(_ *View, infos []SegmentInfo) float64 {
			total := int64(0)
			for i := range infos {
				total += of(&infos[i])
			}
			return float64(total)
		})
	}
	sum("segments", "Live segments.", func(*SegmentInfo) int64 { return 1 })
	sum("documents", "Documents in live segments.", func(i *SegmentInfo) int64 { return int64(i.Documents) })
	sum("live_documents", "Documents that a manifest names.", func(i *SegmentInfo) int64 { return int64(i.LiveDocuments) })
	sum("text_bytes", "Bytes of text in live segments.", func(i *SegmentInfo) int64 { return i.TextBytes })
	sum("live_text_bytes", "Bytes of text in live documents.", func(i *SegmentInfo) int64 { return i.LiveBytes })
	add("unheld_documents", "Documents that a manifest names but no segment holds.", func(v *View, _ []SegmentInfo) float64 { return float64(v.UnheldCount()) })
	add("broken_refs", "Refs whose last event could not be applied because its base revision is missing. They are re-indexed.", func(v *View, _ []SegmentInfo) float64 {
		missing, err := v.Missing()
		if err != nil {
			return math.NaN()
		}
		return float64(missing.Refs)
	})
	add("doomed_segments", "Merged segments that are kept until the last view of them is closed.", func(*View, []SegmentInfo) float64 { return float64(p.sweep.len()) })
	add("removed_text_bytes", "Dead text in segments that hold text of removed repositories and branches, until it is gone from disk.", func(*View, []SegmentInfo) float64 { return float64(p.PendingRemoval().TextBytes) })
	add("removed_text_age_seconds", "Time since the oldest removal of a repository or branch whose text is still on disk; 0 if there is none.", func(*View, []SegmentInfo) float64 {
		if oldest := p.PendingRemoval().Oldest; !oldest.IsZero() {
			return max(0, time.Since(oldest).Seconds())
		}
		return 0
	})
	add("revision_cache_bytes", "Bytes of cached places of refs other than default branches.", func(*View, []SegmentInfo) float64 { return float64(p.revisions.sizeBytes()) })
	return s
}

// Describe implements prometheus.Collector.
func (s *stateCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- s.views
	for _, g := range s.gauges {
		ch <- g.desc
	}
}

// Collect implements prometheus.Collector.
func (s *stateCollector) Collect(ch chan<- prometheus.Metric) {
	v := s.p.Acquire()
	defer v.Release()
	infos := v.SegmentInfos()
	ch <- prometheus.MustNewConstMetric(s.views, prometheus.CounterValue, float64(v.generation))
	for _, g := range s.gauges {
		ch <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, g.read(v, infos))
	}
}
