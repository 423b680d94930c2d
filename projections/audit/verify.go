package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/projections"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/auditlog"
	"github.com/quarrysearch/quarry/schemas/event"
)

// Bounds of a verification.
const (
	// MaxFindings bounds the listed findings; more are only counted.
	MaxFindings = 100
	// maxTrail bounds the links that are kept in memory for comparison with seals: 40 MB.
	// A seal follows the record that it seals within minutes.
	maxTrail = 1 << 20
	// progressEvery is the number of records between two progress reports.
	progressEvery = 2000
)

// readTimeout bounds the wait for a record that is in the log.
const readTimeout = 30 * time.Second

// VerifyOptions configure Verify. Store and Log are required.
type VerifyOptions struct {
	Store *store.Store
	Log   projections.Tailer
	// Key checks seals; without it, seals are counted as unchecked.
	Key *Key
	// Pins are heads that were recorded outside Quarry.
	Pins []auditlog.Pin
	// Retention is the retention of the projections, Now the clock to measure it.
	Retention time.Duration
	Now       func() time.Time
	// Progress, if set, is called periodically. If it returns an error, the verification
	// ends with it.
	Progress func(auditlog.Report) error
}

// Verify reads the log from its beginning and compares it with the chains, the entries,
// the seals and the pinned heads. It returns an error if the comparison could not be
// completed.
func Verify(ctx context.Context, o VerifyOptions) (report *auditlog.Report, err error) {
	if o.Store == nil || o.Log == nil {
		return nil, errors.New("audit: verify: want a store and a log")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	snapshot := o.Store.NewSnapshot()
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	v := &verification{o: o, r: snapshot, report: new(auditlog.Report), trails: map[event.Topic]*trail{}, pins: o.Pins}
	for _, topic := range topics {
		if err := v.verifyTopic(ctx, topic); err != nil {
			return v.report, fmt.Errorf("audit: verify %s: %w", topic, err)
		}
	}
	if err := v.verifyLists(); err != nil {
		return v.report, fmt.Errorf("audit: verify the lists: %w", err)
	}
	v.missingPins()
	slices.SortStableFunc(v.report.Findings, func(a, b auditlog.Finding) int {
		return cmp.Or(cmp.Compare(topicOrder(a), topicOrder(b)), cmp.Compare(a.At.Offset, b.At.Offset))
	})
	return v.report, nil
}

// topicOrder sorts findings without a topic last.
func topicOrder(f auditlog.Finding) int {
	if i := slices.Index(topics, f.At.Topic); i >= 0 {
		return i
	}
	return len(topics)
}

// verification is one run.
type verification struct {
	o      VerifyOptions
	r      store.Reader
	report *auditlog.Report
	trails map[event.Topic]*trail
	pins   []auditlog.Pin // not found yet
	rows   int64          // entries in the store
}

func (v *verification) addFinding(f auditlog.Finding) {
	if len(v.report.Findings) >= MaxFindings {
		v.report.More++
		return
	}
	v.report.Findings = append(v.report.Findings, f)
}

// verifyTopic compares one topic.
func (v *verification) verifyTopic(ctx context.Context, topic event.Topic) error {
	b, _ := topicByte(topic)
	chain, err := readChain(v.r, b)
	if err != nil {
		return err
	}
	v.report.Topics = append(v.report.Topics, auditlog.TopicReport{Topic: topic, First: -1, Last: -1})
	t := &topicWalk{v: v, topic: topic, b: b, chain: chain, report: &v.report.Topics[len(v.report.Topics)-1], instances: map[string]uint64{}}
	t.trail = &trail{links: map[event.Offset]hash{}}
	v.trails[topic] = t.trail
	return t.run(ctx)
}

// trail keeps the links computed from the log, for comparison with seals.
type trail struct {
	links map[event.Offset]hash
	order []event.Offset
	// broken is set once a record is known to be altered or missing, because the links
	// computed from the log then match no seal.
	broken bool
}

func (t *trail) add(at event.Offset, h hash) {
	if len(t.order) == maxTrail {
		delete(t.links, t.order[0])
		t.order = t.order[1:]
	}
	t.links[at] = h
	t.order = append(t.order, at)
}

// verifyLists compares the lists and counters with the existing entries.
func (v *verification) verifyLists() error {
	var listed, days, minutes int64
	all := familyKey(kindListed)
	if err := forEachRow(v.r, all, store.Successor(all), func(_, _ []byte) error { listed++; return nil }); err != nil {
		return err
	}
	for kind, sum := range map[byte]*int64{kindDay: &days, kindMinute: &minutes} {
		lo := countersFrom(kind, listID{}, 0)
		err := forEachRow(v.r, lo, store.Successor(lo[:len(lo)-4]), func(key, value []byte) error {
			n, err := countOf(key, value)
			*sum += n
			return err
		})
		if err != nil {
			return err
		}
	}
	lists := int64(len((&entryRow{}).listIDs()))
	if listed != lists*v.rows || days != v.rows || minutes != v.rows {
		v.addFinding(auditlog.Finding{Kind: auditlog.FindingEntry, Message: fmt.Sprintf(
			"the store has %d entries, but %d in its lists (want %d) and %d by day and %d by minute in its counters: lists show too much or too little; rebuild the store from the log",
			v.rows, listed, lists*v.rows, days, minutes)})
	}
	return nil
}

func (v *verification) missingPins() {
	for _, p := range v.pins {
		v.addFinding(auditlog.Finding{Kind: auditlog.FindingPin, At: p.At, Message: fmt.Sprintf(
			"no record of the log has the hash %s: a record at or before it was altered, removed or added since the head was noted, or it is no longer kept", p.Hash)})
	}
}
