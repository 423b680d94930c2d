package sharding

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrShare means that a Share cannot be parsed, or does not fit the log or other shares.
var ErrShare = errors.New("not a share of the partitions")

// MaxShares bounds the shares of a log, and the partitions that a Share may list.
const MaxShares = 1024

// Share is the part of the partitions of the log whose text a process holds. The zero value
// is all of them.
type Share struct {
	// Number and Of are share Number of Of: partition p belongs to share p mod Of.
	Number, Of int32
	// List lists partitions instead, ascending.
	List []int32
}

// NoShare is the share of a front, which holds no places: an empty List that is not nil.
const NoShare = "none"

// ParseShare parses "2/4", share 2 of 4 with numbers from 0; "ordinal/4", with the number
// at the end of the name of the host, as in a StatefulSet of Kubernetes; or partitions and
// ranges of them, "0,4-6". An empty text is the zero Share, and NoShare no partition.
func ParseShare(text, host string) (Share, error) {
	switch text {
	case "":
		return Share{}, nil
	case NoShare:
		return Share{List: []int32{}}, nil
	}
	number, of, found := strings.Cut(text, "/")
	if !found {
		return parsePartitions(text)
	}
	if number == "ordinal" {
		if number = host[strings.LastIndexByte(host, '-')+1:]; number == host {
			return Share{}, fmt.Errorf("%w: %.80q: the name of the host, %.80q, ends with no number after a hyphen", ErrShare, text, host)
		}
	}
	n, err := strconv.ParseUint(number, 10, 31)
	m, err2 := strconv.ParseUint(of, 10, 31)
	if err != nil || err2 != nil || m == 0 || m > MaxShares {
		return Share{}, fmt.Errorf("%w: %.80q: want number/shares, such as 0/4, with at most %d shares", ErrShare, text, MaxShares)
	}
	if n >= m {
		return Share{}, fmt.Errorf("%w: %.80q: number %d is beyond %d shares, which are numbered from 0", ErrShare, text, n, m)
	}
	return Share{Number: int32(n), Of: int32(m)}, nil
}

func parsePartitions(text string) (Share, error) {
	var s Share
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 31)
		to, err2 := strconv.ParseUint(last, 10, 31)
		if err != nil || err2 != nil || from > to || to-from >= MaxShares {
			return Share{}, fmt.Errorf("%w: %.80q: want partitions, such as 0,4-6", ErrShare, text)
		}
		for p := from; p <= to; p++ {
			at, twice := slices.BinarySearch(s.List, int32(p))
			if twice || len(s.List) == MaxShares {
				return Share{}, fmt.Errorf("%w: %.80q: partition %d twice, or more than %d", ErrShare, text, p, MaxShares)
			}
			s.List = slices.Insert(s.List, at, int32(p))
		}
	}
	return s, nil
}

// IsAll reports whether the share is all partitions of any log.
func (s Share) IsAll() bool { return s.Of == 0 && s.List == nil }

// Has reports whether a partition belongs to the share.
func (s Share) Has(partition int32) bool {
	switch {
	case s.Of > 0:
		return partition%s.Of == s.Number
	case s.List != nil:
		_, found := slices.BinarySearch(s.List, partition)
		return found
	}
	return true
}

// String returns the share in the format that ParseShare reads.
func (s Share) String() string {
	switch {
	case s.Of > 0:
		return fmt.Sprintf("%d/%d", s.Number, s.Of)
	case s.List != nil && len(s.List) == 0:
		return NoShare
	}
	parts := make([]string, len(s.List))
	for i, p := range s.List {
		parts[i] = strconv.Itoa(int(p))
	}
	return strings.Join(parts, ",")
}

// Partitions returns the partitions of the share, ascending, in a log of n partitions. It
// returns ErrShare if the log lacks one of them, or has none for the share.
func (s Share) Partitions(n int32) (partitions []int32, err error) {
	if len(s.List) > 0 && s.List[len(s.List)-1] >= n {
		return nil, fmt.Errorf("%w: there is no partition %d: the log has %d", ErrShare, s.List[len(s.List)-1], n)
	}
	for p := range n {
		if s.Has(p) {
			partitions = append(partitions, p)
		}
	}
	if len(partitions) == 0 {
		return nil, fmt.Errorf("%w: %s has no partition: the log has %d", ErrShare, s, n)
	}
	return partitions, nil
}

// CheckShares returns ErrShare unless each of the n partitions of a log belongs to exactly
// one of the shares. names are those of their owners, for the error.
func CheckShares(n int32, names []string, shares []Share) error {
	var faults []string
	for i, s := range shares {
		if _, err := s.Partitions(n); err != nil {
			faults = append(faults, fmt.Sprintf("%s: %v", names[i], err))
		}
	}
	for p := range n {
		var owners []string
		for i, s := range shares {
			if s.Has(p) {
				owners = append(owners, names[i])
			}
		}
		switch len(owners) {
		case 0:
			faults = append(faults, fmt.Sprintf("partition %d has no owner", p))
		case 1:
		default:
			faults = append(faults, fmt.Sprintf("partition %d has %d owners: %s", p, len(owners), strings.Join(owners, ", ")))
		}
	}
	if faults == nil {
		return nil
	}
	const shown = 5
	if more := len(faults) - shown; more > 0 {
		faults = append(faults[:shown], fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("%w: %s", ErrShare, strings.Join(faults, "; "))
}
