package kafkalog

import (
	"maps"
	"strings"
	"testing"
	"time"
)

// healthyTopic returns a topic with three replicas that meets its specification.
func healthyTopic() TopicState {
	partition := func(n int32) PartitionState {
		return PartitionState{PartitionLayout: PartitionLayout{Number: n, Leader: n, Replicas: []int32{0, 1, 2}, InSync: []int32{0, 1, 2}}}
	}
	return TopicState{
		Topic:      "t",
		Partitions: []PartitionState{partition(0), partition(1)},
		Settings: map[string]string{
			"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1", "min.insync.replicas": "2",
			"max.message.bytes": "1048588", "unclean.leader.election.enable": "false", "message.timestamp.type": "CreateTime",
		},
	}
}

func TestDeviations(t *testing.T) {
	opts, err := Options{Brokers: []string{"a:1", "b:2"}}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	l := newLog(opts, nil)
	spec := TopicSpec{Topic: "t", Partitions: 2, Replication: 3}
	set := func(name, value string) func(*TopicState) {
		return func(s *TopicState) { s.Settings = maps.Clone(s.Settings); s.Settings[name] = value }
	}
	for _, test := range []struct {
		name   string
		change func(*TopicState)
		says   []string // expected parts of the only deviation; none for no deviation
		loss   bool
	}{
		{"as it is to be", func(*TopicState) {}, nil, false},
		{"more in sync", set("min.insync.replicas", "3"), nil, false},
		{"larger messages", set("max.message.bytes", "9000000"), nil, false},
		{"nothing reported", func(s *TopicState) { s.Settings = nil }, nil, false},
		{"compacted", set("cleanup.policy", "compact"), []string{"cleanup.policy of t is compact", "history", "--bootstrap-server a:1,b:2", "--entity-name t", "cleanup.policy=delete"}, true},
		{"compacted, too", set("cleanup.policy", "compact,delete"), []string{"compact,delete"}, true},
		{"kept a week", set("retention.ms", "604800000"), []string{"retention.ms of t is 604800000, wanted is -1", "--add-config retention.ms=-1"}, true},
		{"kept by size", set("retention.bytes", "1000"), []string{"retention.bytes"}, true},
		{"one in sync", set("min.insync.replicas", "1"), []string{"at least 2", "one disk", "min.insync.replicas=2"}, false},
		{"small messages", set("max.message.bytes", "65536"), []string{"at least 1048588"}, false},
		{"unclean", set("unclean.leader.election.enable", "true"), []string{"unclean.leader.election.enable=false"}, false},
		{"broker's time", set("message.timestamp.type", "LogAppendTime"), []string{"CreateTime"}, false},
		{"partitions", func(s *TopicState) { s.Partitions = s.Partitions[:1] }, []string{"has 1 partitions, configured are 2"}, false},
		{"out of sync", func(s *TopicState) { s.Partitions[1].InSync = []int32{0, 2} }, []string{"partitions 1 of t lack"}, false},
		{"deleted", func(s *TopicState) { s.Partitions[1].First = 7 }, []string{"partitions 1 of t do not begin at offset 0"}, false},
		{"copies", func(s *TopicState) {
			for i := range s.Partitions {
				s.Partitions[i].Replicas, s.Partitions[i].InSync = []int32{1}, []int32{1}
			}
		}, []string{"has 1 copies, configured are 3"}, false},
	} {
		state := healthyTopic()
		test.change(&state)
		got := l.Deviations(spec, state)
		if len(test.says) == 0 {
			if len(got) != 0 {
				t.Errorf("%s: %v", test.name, got)
			}
			continue
		}
		if len(got) != 1 || got[0].Loss != test.loss {
			t.Errorf("%s: %+v, want one with loss %t", test.name, got, test.loss)
			continue
		}
		for _, text := range test.says {
			if !strings.Contains(got[0].String(), text) {
				t.Errorf("%s: %q does not say %q", test.name, got[0], text)
			}
		}
	}
	// If the wanted retention is an hour, deletion after an hour loses nothing.
	state := healthyTopic()
	if got := l.Deviations(TopicSpec{Topic: "t", Retention: time.Hour}, state); len(got) != 1 || got[0].Loss {
		t.Errorf("kept forever, want an hour: %+v", got)
	}
}
