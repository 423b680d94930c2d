package sharding

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestParseShare(t *testing.T) {
	for _, c := range []struct {
		text, host string
		want       []int32 // of a log of 6 partitions; nil for an error with the words
		words      string
	}{
		{text: "", want: []int32{0, 1, 2, 3, 4, 5}},
		{text: "0/1", want: []int32{0, 1, 2, 3, 4, 5}},
		{text: "1/4", want: []int32{1, 5}},
		{text: "ordinal/3", host: "quarry-shard-2", want: []int32{2, 5}},
		{text: "4-5, 0", want: []int32{0, 4, 5}},
		{text: "ordinal/3", host: "quarry-shard-3", words: "number 3 is beyond 3 shares"},
		{text: "ordinal/3", host: "quarry", words: "ends with no number"},
		{text: "ordinal/3", host: "quarry-shard", words: "want number/shares"},
		{text: "4/4", words: "number 4 is beyond 4 shares"},
		{text: "0/0", words: "want number/shares"},
		{text: "0/1025", words: "at most 1024 shares"},
		{text: "6/8", words: "6/8 has no partition: the log has 6"},
		{text: "5-7", words: "there is no partition 7: the log has 6"},
		{text: "1,1", words: "partition 1 twice"},
		{text: "3-1", words: "want partitions"},
		{text: "0-999999999", words: "want partitions"},
		{text: "none", words: "none has no partition"},
		{text: "-1", words: "want partitions"},
	} {
		s, err := ParseShare(c.text, c.host)
		var got []int32
		if err == nil {
			got, err = s.Partitions(6)
		}
		if c.words != "" {
			if !errors.Is(err, ErrShare) || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%q at %q: error %v, want %q", c.text, c.host, err, c.words)
			}
			continue
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q at %q: partitions %v, error %v, want %v", c.text, c.host, got, err, c.want)
		}
		if again, err := ParseShare(s.String(), ""); err != nil || again.String() != s.String() {
			t.Errorf("%q prints as %q, which reads as %v, %v", c.text, s.String(), again, err)
		}
	}
}

func TestCheckShares(t *testing.T) {
	for _, c := range []struct{ shares, words string }{
		{"0/2 1/2", ""},
		{"0-2 3,4 5", ""},
		{"0/2", "partition 1 has no owner; partition 3 has no owner; partition 5 has no owner"},
		{"0/2 1/2 3", "partition 3 has 2 owners: b, c"},
		{"0-5 6", "b: not a share of the partitions: there is no partition 6: the log has 6"},
	} {
		var shares []Share
		for text := range strings.FieldsSeq(c.shares) {
			s, err := ParseShare(text, "")
			if err != nil {
				t.Fatal(err)
			}
			shares = append(shares, s)
		}
		err := CheckShares(6, []string{"a", "b", "c"}[:len(shares)], shares)
		if (err == nil) != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v, want %q", c.shares, err, c.words)
		}
	}
}
