package e2e

import (
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
)

// TestScriptsOnKafka runs the scripts that hold on any log, each on a broker of
// its own: the topics have fixed names.
func TestScriptsOnKafka(t *testing.T) {
	for _, script := range []string{"first_light", "branches"} {
		t.Run(script, func(t *testing.T) {
			broker := kafkatest.Start(t)
			t.Logf("the event log of this script is a real Kafka broker at %s", broker.Addresses)
			runScripts(t, []string{"testdata/" + script + ".txtar"}, map[string]string{
				"QUARRY_LOG_DRIVER":        "kafka",
				"QUARRY_LOG_KAFKA_BROKERS": strings.Join(broker.Addresses, ","),
			})
		})
	}
}
