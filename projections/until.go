package projections

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/schemas/event"
)

// ErrUntil reports that a point in time cannot be parsed, or is not in the log.
var ErrUntil = errors.New("not a moment of the log")

// maxPositions bounds the positions of an Until. No log has that many partitions.
const maxPositions = 1024

// Until is a point in the log. A partition with a checkpoint in Positions ends before it.
// Any other partition ends before its first record that was appended after Time, if that
// is set, and otherwise where the log ended when the replay began.
type Until struct {
	Time      time.Time    `json:"time,omitzero"`
	Positions []Checkpoint `json:"positions,omitempty"`
}

// ParseUntil parses an RFC 3339 time, or positions separated by commas:
// "partition/offset" of the last record to include, optionally preceded by a topic.
func ParseUntil(s string) (*Until, error) {
	if !strings.Contains(s, "/") {
		t, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			return nil, fmt.Errorf("%w: %.80q: want a time such as 2026-03-04T05:06:07Z, or partition/offset", ErrUntil, s)
		}
		return &Until{Time: t}, nil
	}
	u := &Until{}
	for _, part := range strings.Split(s, ",") {
		c, err := parsePosition(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		if _, twice := u.checkpointOf(c.Partition); twice || len(u.Positions) == maxPositions {
			return nil, fmt.Errorf("%w: %.80q: partition %d twice, or more than %d positions", ErrUntil, s, c.Partition, maxPositions)
		}
		u.Positions = append(u.Positions, c)
	}
	return u, nil
}

func parsePosition(s string) (Checkpoint, error) {
	s = strings.TrimPrefix(s, string(event.TopicEvents)+"/")
	left, right, _ := strings.Cut(s, "/")
	partition, err := strconv.ParseInt(left, 10, 32)
	offset, err2 := strconv.ParseInt(right, 10, 64)
	if err != nil || err2 != nil || partition < 0 || offset < -1 {
		return Checkpoint{}, fmt.Errorf("%w: %.80q: want partition/offset, two numbers", ErrUntil, s)
	}
	return Checkpoint{Partition: int32(partition), Next: event.Offset(offset) + 1}, nil
}

// checkpointOf returns the checkpoint of a partition.
func (u *Until) checkpointOf(partition int32) (event.Offset, bool) {
	i := slices.IndexFunc(u.Positions, func(c Checkpoint) bool { return c.Partition == partition })
	if i < 0 {
		return 0, false
	}
	return u.Positions[i].Next, true
}

// String returns u in the format that ParseUntil reads: the time, if it is set.
func (u *Until) String() string {
	if !u.Time.IsZero() {
		return u.Time.UTC().Format(time.RFC3339Nano)
	}
	parts := make([]string, len(u.Positions))
	for i, c := range u.Positions {
		parts[i] = fmt.Sprintf("%d/%d", c.Partition, c.Next-1)
	}
	return strings.Join(parts, ",")
}

// partitionEnd returns the end of a partition whose last record is before high, and the
// time after which it ends earlier, or zero.
func (u *Until) partitionEnd(partition int32, high event.Offset) (event.Offset, time.Time, error) {
	next, named := u.checkpointOf(partition)
	if !named {
		return high, u.Time, nil
	}
	if next > high {
		return 0, time.Time{}, fmt.Errorf("%w: partition %d ends before offset %d", ErrUntil, partition, high)
	}
	return next, time.Time{}, nil
}
