package kafkatest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// properties returns the configuration of a broker that is its own controller.
func (b *Broker) properties(clients, controller int) string {
	protocol := "PLAINTEXT"
	if b.SASL != nil {
		protocol = "SASL_SSL"
	}
	lines := []string{
		"process.roles=broker,controller",
		"node.id=1",
		fmt.Sprintf("controller.quorum.voters=1@127.0.0.1:%d", controller),
		fmt.Sprintf("listeners=CLIENTS://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d", clients, controller),
		fmt.Sprintf("advertised.listeners=CLIENTS://127.0.0.1:%d", clients),
		"listener.security.protocol.map=CONTROLLER:PLAINTEXT,CLIENTS:" + protocol,
		"inter.broker.listener.name=CLIENTS",
		"controller.listener.names=CONTROLLER",
		"log.dirs=" + filepath.Join(filepath.Dir(b.config), "data"),
		"auto.create.topics.enable=false",
		// One broker holds the only copy of everything.
		"offsets.topic.replication.factor=1",
		"offsets.topic.num.partitions=3",
		"transaction.state.log.replication.factor=1",
		"transaction.state.log.min.isr=1",
		"share.coordinator.state.topic.replication.factor=1",
		"share.coordinator.state.topic.min.isr=1",
		"default.replication.factor=1",
		"group.initial.rebalance.delay.ms=0",
		// After a kill the controller waits for this long before the broker is back.
		"broker.session.timeout.ms=6000",
		"broker.heartbeat.interval.ms=1000",
	}
	if b.SASL != nil {
		lines = append(lines, b.certificate.properties()...)
		lines = append(lines,
			"sasl.enabled.mechanisms=SCRAM-SHA-256",
			"sasl.mechanism.inter.broker.protocol=SCRAM-SHA-256",
			fmt.Sprintf(`listener.name.clients.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="%s" password="%s";`,
				b.SASL.Username, b.SASL.Password),
		)
	}
	return strings.Join(lines, "\n") + "\n"
}

// missing skips the test, or fails it where everything must run.
func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("QUARRY_REQUIRE_ALL") == "1" {
		t.Fatalf("kafka broker: %s, and QUARRY_REQUIRE_ALL=1", what)
	}
	t.Skipf("kafka broker: %s", what)
}

func findJava(t testing.TB) string {
	t.Helper()
	java, err := exec.LookPath("java")
	if err != nil {
		missing(t, "no java in PATH")
	}
	return java
}

// findLibs returns the directory of the broker's jars.
func findLibs(t testing.TB) string {
	t.Helper()
	libs := os.Getenv("QUARRY_KAFKA_LIBS")
	if libs == "" {
		libs = filepath.Join(repositoryRoot(t), ".cache", "kafka", "libs")
	}
	jars, err := filepath.Glob(filepath.Join(libs, "kafka_*.jar"))
	if err != nil || len(jars) == 0 {
		missing(t, fmt.Sprintf("no jars in %s; fetch them by make kafka", libs))
	}
	return libs
}

// repositoryRoot returns the directory of go.mod above the working directory,
// which is that of the package under test.
func repositoryRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the working directory")
		}
		dir = parent
	}
}
