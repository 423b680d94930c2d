package kafkalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/event"
	kafka "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// brokerModel models a partition of a broker for idempotent producers, on a network that
// loses and delays batches.
type brokerModel struct {
	t         *testing.T
	random    *rand.Rand
	log       []string
	acked     int // records that cannot be lost
	producers map[int64]*producerState
	delayed   [][]byte
	issued    int64
}

// producerState is the broker's memory of a producer: the last batches of an epoch.
type producerState struct {
	epoch   int16
	batches []appended
}

type appended struct {
	first, last int32 // sequence numbers
	base        int64
}

// remembered is the number of batches that brokers remember.
const remembered = 5

func (m *brokerModel) identify(context.Context) (int64, error) {
	if m.random.IntN(5) == 0 {
		return 0, kafka.GroupLoadInProgress
	}
	m.issued++
	return m.issued, nil
}

// attempt delivers a batch, or simulates a network failure.
func (m *brokerModel) attempt(_ context.Context, encoded []byte) (int64, error) {
	if len(m.delayed) > 0 && m.random.IntN(3) == 0 {
		// The producer no longer waits for the response.
		_, _ = m.deliver(m.delayed[0])
		m.delayed = m.delayed[1:]
	}
	switch m.random.IntN(10) {
	case 0: // never arrives
		return 0, io.ErrUnexpectedEOF
	case 1: // arrives later
		m.delayed = append(m.delayed, encoded)
		return 0, io.ErrUnexpectedEOF
	case 2, 3: // arrives, but the response is lost
		_, _ = m.deliver(encoded)
		return 0, io.ErrUnexpectedEOF
	case 4: // refused for now
		return 0, kafka.NotEnoughReplicas
	case 5: // arrives, but the leader fails before replication
		_, _ = m.deliver(encoded)
		m.loseTail()
		return 0, kafka.NotLeaderForPartition
	}
	base, err := m.deliver(encoded)
	if err == nil {
		m.acked = len(m.log)
	}
	return base, err
}

// deliver implements Kafka's ProducerAppendInfo.checkSequence and checkProducerEpoch.
func (m *brokerModel) deliver(encoded []byte) (int64, error) {
	s, texts := decodeBatch(m.t, encoded)
	state := m.producers[s.producer]
	last := s.sequence + int32(len(texts)) - 1
	switch {
	case state == nil || s.epoch > state.epoch && s.sequence == 0:
		state = &producerState{epoch: s.epoch}
		m.producers[s.producer] = state
	case s.epoch < state.epoch:
		return 0, kafka.InvalidProducerEpoch
	case s.epoch > state.epoch:
		return 0, kafka.OutOfOrderSequenceNumber
	default:
		for _, b := range state.batches {
			if b.first == s.sequence && b.last == last {
				return b.base, nil
			}
		}
		if n := len(state.batches); n > 0 && state.batches[n-1].last+1 != s.sequence {
			return 0, kafka.OutOfOrderSequenceNumber
		}
	}
	base := int64(len(m.log))
	m.log = append(m.log, texts...)
	state.batches = append(state.batches, appended{s.sequence, last, base})
	if len(state.batches) > remembered {
		state.batches = state.batches[1:]
	}
	return base, nil
}

// loseTail removes the unacknowledged records, and the broker's memory of them.
func (m *brokerModel) loseTail() {
	m.log = m.log[:m.acked]
	for _, state := range m.producers {
		for n := len(state.batches); n > 0 && state.batches[n-1].base >= int64(m.acked); n-- {
			state.batches = state.batches[:n-1]
		}
	}
}

// decodeBatch decodes a batch with the client's decoder.
func decodeBatch(t *testing.T, encoded []byte) (batchStamp, []string) {
	t.Helper()
	var set protocol.RecordSet
	if _, err := set.ReadFrom(bytes.NewReader(encoded)); err != nil {
		t.Fatal(err)
	}
	batch := set.Records.(*protocol.RecordStream).Records[0].(*protocol.RecordBatch)
	var texts []string
	for {
		rec, err := set.Records.ReadRecord()
		if errors.Is(err, io.EOF) {
			return batchStamp{batch.ProducerID, batch.ProducerEpoch, batch.BaseSequence}, texts
		}
		if err != nil {
			t.Fatal(err)
		}
		value, err := readBytes(rec.Value)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(value))
	}
}

// TestProducerOverAModel sends batches over many networks that lose and delay them. An
// acknowledged batch is in the log once, at the acknowledged position and in send order.
// A batch that is given up is in the log at most once, and not after a batch that was
// acknowledged later.
func TestProducerOverAModel(t *testing.T) {
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) { producerOverAModel(t, seed) })
	}
}

func producerOverAModel(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	m := &brokerModel{t: t, random: random, producers: map[int64]*producerState{}}
	p := newTestProducer(t, m)
	number := map[string]int{}           // of each text
	ackedAt := map[string]event.Offset{} // of acknowledged texts
	for batch := range 60 {
		var records []*event.Record
		for i := range 1 + random.IntN(3) {
			text := fmt.Sprintf("%d.%d", batch, i)
			number[text] = len(number)
			records = append(records, &event.Record{Value: []byte(text)})
		}
		// Short enough that some batches are given up.
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(600))*time.Millisecond)
		base, err := p.sendBatch(ctx, records, time.Now())
		cancel()
		if err != nil {
			if !errors.Is(err, eventlog.ErrFull) {
				t.Fatalf("seed %d, batch %d: %v, want %v", seed, batch, err, eventlog.ErrFull)
			}
			continue
		}
		for i, rec := range records {
			ackedAt[string(rec.Value)] = base + event.Offset(i)
		}
	}
	seen := map[string]bool{}
	newest := -1 // number of the latest acknowledged text so far
	for offset, text := range m.log {
		at, acked := ackedAt[text]
		switch {
		case seen[text]:
			t.Errorf("seed %d: %s is there twice", seed, text)
		case acked && at != event.Offset(offset):
			t.Errorf("seed %d: %s at %d, acknowledged at %d", seed, text, offset, at)
		case number[text] < newest:
			t.Errorf("seed %d: %s at %d is behind something newer", seed, text, offset)
		}
		seen[text] = true
		if acked {
			newest = number[text]
		}
		delete(ackedAt, text)
	}
	if len(ackedAt) > 0 {
		t.Errorf("seed %d: acknowledged and not in the log: %v", seed, ackedAt)
	}
}

func newTestProducer(t *testing.T, m *brokerModel) *producer {
	opts, err := Options{Brokers: []string{"127.0.0.1:1"}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	p := newProducer(newLog(opts, nil), partitionID{"t", 0})
	p.identify, p.attempt, p.refresh = m.identify, m.attempt, func(context.Context) {}
	return p
}

// TestAppendIsBounded appends to brokers that refuse and to brokers that do not answer:
// the append is given up after AppendTimeout.
func TestAppendIsBounded(t *testing.T) {
	for name, attempt := range map[string]func(context.Context, []byte) (int64, error){
		"accepted": func(context.Context, []byte) (int64, error) { return 0, kafka.NotEnoughReplicas },
		"answered": func(ctx context.Context, _ []byte) (int64, error) { <-ctx.Done(); return 0, ctx.Err() },
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newTestProducer(t, &brokerModel{})
			p.identify = func(context.Context) (int64, error) { return 1, nil }
			p.attempt = attempt
			began := time.Now()
			err := p.log.write(p, []*partitionAppend{{records: []*event.Record{{Value: []byte("x")}}}})
			if took := time.Since(began); !errors.Is(err, eventlog.ErrFull) || took != p.log.opts.AppendTimeout {
				t.Errorf("an append that is never %s: %v after %v, want %v after %v", name, err, took, eventlog.ErrFull, p.log.opts.AppendTimeout)
			}
		})
	}
}

// TestProducerResetsItsIdentity makes the brokers answer with each error that means a
// different state of the producer.
func TestProducerResetsItsIdentity(t *testing.T) {
	for code, want := range map[kafka.Error]batchStamp{
		kafka.OutOfOrderSequenceNumber: {producer: 1, epoch: 1},
		kafka.UnknownProducerId:        {producer: 2},
		kafka.InvalidProducerEpoch:     {producer: 2},
		kafka.ProducerFenced:           {producer: 2},
		kafka.InvalidProducerIDMapping: {producer: 2},
		kafka.DuplicateSequenceNumber:  {producer: 2},
	} {
		var stamps []batchStamp
		p := newTestProducer(t, &brokerModel{})
		issued := int64(0)
		p.refresh = func(context.Context) {}
		p.identify = func(context.Context) (int64, error) { issued++; return issued, nil }
		p.attempt = func(_ context.Context, encoded []byte) (int64, error) {
			s, _ := decodeBatch(t, encoded)
			if stamps = append(stamps, s); len(stamps) == 2 {
				return 0, code
			}
			return int64(10 * len(stamps)), nil
		}
		for range 2 {
			if _, err := p.sendBatch(t.Context(), []*event.Record{{}, {}}, time.Now()); err != nil {
				t.Fatalf("%v: %v", code, err)
			}
		}
		wants := []batchStamp{{producer: 1}, {producer: 1, sequence: 2}, want}
		if fmt.Sprint(stamps) != fmt.Sprint(wants) {
			t.Errorf("%v: batches %+v, want %+v", code, stamps, wants)
		}
	}
}

// TestProducerNumbersEnd exhausts sequence numbers and epochs.
func TestProducerNumbersEnd(t *testing.T) {
	p := newTestProducer(t, &brokerModel{})
	issued := int64(0)
	p.refresh = func(context.Context) {}
	p.identify = func(context.Context) (int64, error) { issued++; return issued, nil }
	var last batchStamp
	p.attempt = func(_ context.Context, encoded []byte) (int64, error) {
		last, _ = decodeBatch(t, encoded)
		return 0, nil
	}
	send := func(want batchStamp) {
		t.Helper()
		if _, err := p.sendBatch(t.Context(), []*event.Record{{}, {}, {}}, time.Now()); err != nil {
			t.Fatal(err)
		}
		if last != want {
			t.Errorf("batch %+v, want %+v", last, want)
		}
	}
	send(batchStamp{producer: 1})
	p.next.sequence = math.MaxInt32 - 3
	send(batchStamp{producer: 1, sequence: math.MaxInt32 - 3})
	send(batchStamp{producer: 1, epoch: 1})
	p.next.epoch = math.MaxInt16
	p.next.sequence = math.MaxInt32 - 2
	send(batchStamp{producer: 2})
}
