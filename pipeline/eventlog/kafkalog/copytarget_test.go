package kafkalog_test

import (
	"slices"
	"strings"
	"testing"

	kafka "github.com/segmentio/kafka-go"

	"github.com/quarrysearch/quarry/pipeline/eventlog/embeddedlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
	"github.com/quarrysearch/quarry/pipeline/eventlog/logcopy"
	"github.com/quarrysearch/quarry/pipeline/eventlog/topics"
	"github.com/quarrysearch/quarry/schemas/event"
)

// copyTarget creates the topics for a copy, and expects topics to be refused that have
// another number of partitions, or that replace the times of records.
func copyTarget(t *testing.T, broker *kafkatest.Broker) {
	l := mustOpen(t, kafkalog.Options{Brokers: broker.Addresses})
	source := openEmbedded(t, 3)
	check := func(s topics.Spec, source *embeddedlog.Log, refusal string, missing ...event.Topic) {
		t.Helper()
		got, err := topics.CheckTarget(t.Context(), l, s, source)
		if refusal != "" && (err == nil || !strings.Contains(err.Error(), refusal)) || refusal == "" && err != nil {
			t.Errorf("%v, want %q", err, refusal)
		}
		if err == nil && !slices.Equal(got, missing) {
			t.Errorf("missing %v, want %v", got, missing)
		}
	}
	if err := l.EnsureTopics(t.Context(), kafkalog.TopicSpec{Topic: event.TopicAudit, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	missing := []event.Topic{event.TopicEvents, event.TopicDeadLetters, event.TopicAccounts}
	check(topics.Spec{}, source, "", missing...)
	check(topics.Spec{Partitions: 5}, source, "log.partitions of the target: the logs do not match: quarry.events has 3 partitions at the source and 5 at the target")
	if err := topics.CreateTarget(t.Context(), l, topics.Spec{}, source, missing); err != nil {
		t.Fatal(err)
	}
	check(topics.Spec{}, source, "")
	check(topics.Spec{}, openEmbedded(t, 2), "quarry.events has 2 partitions at the source and 3 at the target")
	if _, err := logcopy.Copy(t.Context(), source, l, logcopy.Options{Topics: topics.All}); err != nil {
		t.Error(err)
	}

	transport := new(kafka.Transport) // the default one keeps a connection for the life of the process
	t.Cleanup(transport.CloseIdleConnections)
	client := &kafka.Client{Addr: kafka.TCP(broker.Addresses...), Transport: transport}
	response, err := client.IncrementalAlterConfigs(t.Context(), &kafka.IncrementalAlterConfigsRequest{
		Resources: []kafka.IncrementalAlterConfigsRequestResource{{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: string(event.TopicDeadLetters),
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{{
				Name: kafkalog.TimestampType, Value: "LogAppendTime", ConfigOperation: kafka.ConfigOperationSet,
			}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Resources[0].Error; err != nil {
		t.Fatal(err)
	}
	check(topics.Spec{}, source, "message.timestamp.type of quarry.deadletters is LogAppendTime, wanted is CreateTime")
}

func openEmbedded(t *testing.T, partitions int32) *embeddedlog.Log {
	t.Helper()
	l, err := embeddedlog.Open(t.TempDir(), embeddedlog.Options{Partitions: partitions})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}
