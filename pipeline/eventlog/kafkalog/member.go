package kafkalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quarrysearch/quarry/schemas/event"
	kafka "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/consumer"
	"github.com/segmentio/kafka-go/protocol/joingroup"
	"github.com/segmentio/kafka-go/protocol/leavegroup"
	"github.com/segmentio/kafka-go/protocol/syncgroup"
)

// member implements the group protocol for one call of Join. The member keeps its ID when
// the coordinator moves or does not answer: with a new ID, it would have to wait for the
// former session to expire. Rejected: the client's ConsumerGroup, which forgets the ID at
// each failure and does not support instances. See https://kafka.apache.org/protocol and
// KIP-345 (static membership).
//
// Only the goroutine of Join changes it.
type member struct {
	log         *Log
	group       string
	topic       event.Topic
	partitions  int32
	connections *connections
	transport   *kafka.Transport
	client      *kafka.Client
	end         context.CancelFunc // of the transport's goroutines
	identity
}

// identity identifies a member to the coordinator.
type identity struct {
	// instance is the name under which the process rejoins after a restart; empty for
	// none.
	instance string
	// member is assigned by the coordinator; empty before that.
	member     string
	generation int32
}

// ownedPartition is a partition of a member, and the offset from which the group
// continues.
type ownedPartition struct {
	number    int32
	committed event.Offset
}

const (
	// protocolType and rangeProtocol identify the assignment method; all members of a
	// group must use the same.
	protocolType  = "consumer"
	rangeProtocol = "range"
	// formatVersion is the version of subscriptions and assignments. Members of releases
	// that used the client's ConsumerGroup cannot read a later one.
	formatVersion = 0
	// groupMargin is added to the time that the coordinator waits, to get the timeout of
	// a request.
	groupMargin = 5 * time.Second
	// heartbeatTimeout bounds a heartbeat; leaveTimeout bounds the attempts to leave.
	heartbeatTimeout = 2 * time.Second
	leaveTimeout     = 3 * time.Second
)

// newMember returns a member with its own connections, because it commits and leaves
// while the log is being closed.
func newMember(l *Log, group string, topic event.Topic, partitions int32, instance string) *member {
	m := &member{log: l, group: group, topic: topic, partitions: partitions, connections: newConnections(l.opts), identity: identity{instance: instance}}
	lifetime, end := context.WithCancel(context.Background())
	m.end = end
	m.transport = newTransport(lifetime, l.opts, m.connections, l.sasl)
	m.client = &kafka.Client{Addr: kafka.TCP(l.opts.Brokers...), Timeout: requestTimeout, Transport: m.transport}
	return m
}

// close leaves the group, so that the partitions are reassigned immediately.
func (m *member) close() {
	m.leaveGroup()
	m.end()
	m.transport.CloseIdleConnections()
	m.connections.closeAll()
}

// joinGeneration joins the group, with retries, and returns the partitions assigned to
// the member in the new generation.
func (m *member) joinGeneration(ctx context.Context) ([]ownedPartition, error) {
	var pause backoff
	for {
		owned, err := m.joinGenerationOnce(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil {
			return owned, nil
		}
		m.forgetIdentity(err)
		if errors.Is(err, kafka.MemberIDRequired) {
			continue // it has an ID now
		}
		if errors.Is(err, kafka.InvalidSessionTimeout) {
			return nil, fmt.Errorf("session timeout of %v: choose one between the brokers' group.min.session.timeout.ms and group.max.session.timeout.ms: %w", m.log.opts.SessionTimeout, err)
		}
		if !isRetriableJoin(err) {
			return nil, classifyError(explainMissingRight(err, "READ", "group "+m.group))
		}
		m.log.metrics.retries.WithLabelValues(operationGroup).Inc()
		if pause.last == 0 {
			m.log.opts.Logger.Warn("cannot join the group, trying again", "group", m.group, "topic", m.topic, "error", err)
		}
		if err := pause.waitNext(ctx); err != nil {
			return nil, err
		}
	}
}

func (m *member) joinGenerationOnce(ctx context.Context) ([]ownedPartition, error) {
	assignments, err := m.sendJoin(ctx)
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	numbers, err := m.sendSync(ctx, assignments)
	if err != nil {
		return nil, fmt.Errorf("take over the assignment: %w", err)
	}
	return m.loadOffsets(ctx, numbers)
}

// isRetriableJoin reports whether an error of joining may be transient. More errors are
// than elsewhere: if the group has forgotten the member or its generation, it can join as
// a new one.
func isRetriableJoin(err error) bool {
	for _, code := range []kafka.Error{kafka.InvalidSessionTimeout, kafka.InconsistentGroupProtocol, kafka.InvalidGroupId} {
		if errors.Is(err, code) {
			return false
		}
	}
	return !errors.Is(classifyError(err), ErrRefused)
}

// membershipEnded reports whether err means that the generation is over, or that the
// coordinator does not know the member.
func membershipEnded(err error) bool {
	for _, code := range []kafka.Error{kafka.RebalanceInProgress, kafka.IllegalGeneration, kafka.UnknownMemberId, kafka.FencedInstanceID} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

// forgetIdentity clears the parts of the identity that the coordinator no longer knows.
func (m *member) forgetIdentity(err error) {
	switch {
	case errors.Is(err, kafka.UnknownMemberId):
		m.member = ""
	case errors.Is(err, kafka.FencedInstanceID):
		m.log.opts.Logger.Warn("another process has joined the group under the same instance; this one continues without it: give each process its own data directory",
			"group", m.group, "topic", m.topic, "instance", m.instance)
		m.member, m.instance = "", ""
	}
}

// sendJoin requests membership in the next generation. If this member is the leader of
// the group, it returns the assignments of all members.
func (m *member) sendJoin(ctx context.Context) ([]syncgroup.RequestAssignment, error) {
	ctx, cancel := context.WithTimeout(ctx, m.log.opts.RebalanceTimeout+groupMargin)
	defer cancel()
	subscription, err := protocol.Marshal(formatVersion, consumer.Subscription{Version: formatVersion, Topics: []string{string(m.topic)}})
	if err != nil {
		return nil, err
	}
	response, err := askGroup[*joingroup.Response](ctx, m, &joingroup.Request{
		GroupID: m.group, MemberID: m.member, GroupInstanceID: m.instance, ProtocolType: protocolType,
		SessionTimeoutMS: int32(m.log.opts.SessionTimeout.Milliseconds()), RebalanceTimeoutMS: int32(m.log.opts.RebalanceTimeout.Milliseconds()),
		Protocols: []joingroup.RequestProtocol{{Name: rangeProtocol, Metadata: subscription}},
	})
	if err != nil {
		return nil, err
	}
	if response.MemberID != "" {
		m.member = response.MemberID
	}
	if err := codeError(response.ErrorCode); err != nil {
		return nil, err
	}
	m.generation = response.GenerationID
	if response.LeaderID != m.member {
		return nil, nil
	}
	return m.assignPartitions(response.Members)
}

// assignPartitions assigns a range of partitions to each member, in order of member ID,
// which starts with the instance. All members have the same topic.
func (m *member) assignPartitions(members []joingroup.ResponseMember) ([]syncgroup.RequestAssignment, error) {
	ids := make([]string, len(members))
	for i := range members {
		ids[i] = members[i].MemberID
	}
	slices.Sort(ids)
	assignments := make([]syncgroup.RequestAssignment, len(ids))
	for i, numbers := range splitRanges(m.partitions, len(ids)) {
		encoded, err := protocol.Marshal(formatVersion, consumer.Assignment{
			Version: formatVersion, AssignedPartitions: []consumer.TopicPartition{{Topic: string(m.topic), Partitions: numbers}},
		})
		if err != nil {
			return nil, err
		}
		assignments[i] = syncgroup.RequestAssignment{MemberID: ids[i], Assignment: encoded}
	}
	return assignments, nil
}

// splitRanges splits the partitions into ranges whose sizes differ by at most one.
func splitRanges(partitions int32, members int) [][]int32 {
	out := make([][]int32, members)
	for p := range partitions {
		i := int(int64(p) * int64(members) / int64(partitions))
		out[i] = append(out[i], p)
	}
	return out
}

// sendSync sends the assignments, if any, and returns the partitions of this member.
func (m *member) sendSync(ctx context.Context, assignments []syncgroup.RequestAssignment) ([]int32, error) {
	ctx, cancel := context.WithTimeout(ctx, m.log.opts.RebalanceTimeout+groupMargin)
	defer cancel()
	response, err := askGroup[*syncgroup.Response](ctx, m, &syncgroup.Request{
		GroupID: m.group, MemberID: m.member, GroupInstanceID: m.instance, GenerationID: m.generation,
		ProtocolType: protocolType, ProtocolName: rangeProtocol, Assignments: assignments,
	})
	if err == nil {
		err = codeError(response.ErrorCode)
	}
	if err != nil || len(response.Assignments) == 0 {
		return nil, err
	}
	var assigned consumer.Assignment
	if err := protocol.Unmarshal(response.Assignments, formatVersion, &assigned); err != nil {
		return nil, fmt.Errorf("decode the assignment: %w", err)
	}
	var numbers []int32
	for _, t := range assigned.AssignedPartitions {
		if t.Topic == string(m.topic) {
			numbers = append(numbers, t.Partitions...)
		}
	}
	return numbers, nil
}

// loadOffsets returns the partitions with the offsets from which the group continues.
func (m *member) loadOffsets(ctx context.Context, numbers []int32) ([]ownedPartition, error) {
	if len(numbers) == 0 {
		return nil, nil
	}
	committed, err := fetchCommitted(ctx, m.client, m.group, m.topic, m.partitions)
	if err != nil {
		return nil, fmt.Errorf("committed offsets: %w", err)
	}
	owned := make([]ownedPartition, len(numbers))
	for i, p := range numbers {
		if p < 0 || p >= m.partitions {
			return nil, fmt.Errorf("the group assigned partition %d; the log has %d", p, m.partitions)
		}
		owned[i] = ownedPartition{p, committed[p]}
	}
	return owned, nil
}

// leaveGroup leaves the group. If the coordinator does not answer, the session expires.
func (m *member) leaveGroup() {
	if m.member == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	var pause backoff
	for {
		response, err := askGroup[*leavegroup.Response](ctx, m, &leavegroup.Request{
			GroupID: m.group, Members: []leavegroup.RequestMember{{MemberID: m.member, GroupInstanceID: m.instance}},
		})
		if err == nil {
			err = codeError(response.ErrorCode)
		}
		if err == nil || !isRetriable(err) || pause.waitNext(ctx) != nil {
			return
		}
	}
}

// askGroup sends a request to the coordinator of the group.
func askGroup[R protocol.Message](ctx context.Context, m *member, request protocol.Message) (R, error) {
	var response R
	answer, err := m.transport.RoundTrip(ctx, m.client.Addr, request)
	if err != nil {
		return response, err
	}
	response, ok := answer.(R)
	if !ok {
		return response, fmt.Errorf("answer of type %T", answer)
	}
	return response, nil
}

func codeError(code int16) error {
	if code == 0 {
		return nil
	}
	return kafka.Error(code)
}
