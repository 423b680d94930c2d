package brokers

import (
	"fmt"
	"strings"

	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
)

// clusterConfig is the configuration shared by the nodes of a cluster.
type clusterConfig struct {
	id          string // of the cluster
	java, libs  string
	archive     string         // flag of Java; may be empty
	sasl        *kafkalog.SASL // nil accepts every client
	certificate certificate    // only with sasl
	users       map[string]string
	authorize   bool
	clients     []int    // port of each node
	mutual      []int    // port of each node that requires a client certificate; empty without MutualTLS
	controllers []int    // port of each controller
	dedicated   bool     // controllers are not brokers
	properties  []string // of Options
}

func newClusterConfig(o Options) (*clusterConfig, error) {
	java, libs, err := Find(o.Libs)
	if err != nil {
		return nil, err
	}
	s := &clusterConfig{id: newID(), java: java, libs: libs, sasl: o.SASL, users: o.Users, authorize: o.Authorize, properties: o.Properties}
	if o.SASL != nil {
		if s.certificate, err = newCertificate(); err != nil {
			return nil, err
		}
	}
	n := max(o.Nodes, 1)
	controllers := n
	if s.dedicated = o.Controllers > 0; s.dedicated {
		controllers = o.Controllers
	}
	mutual := 0
	if o.MutualTLS {
		mutual = n
	}
	ports, err := freePorts(n + controllers + mutual)
	if err != nil {
		return nil, err
	}
	s.clients, s.controllers, s.mutual = ports[:n], ports[n:n+controllers], ports[n+controllers:]
	return s, nil
}

func (s *clusterConfig) clientAddress(node int) string {
	return fmt.Sprintf("127.0.0.1:%d", s.clients[node])
}

func (s *clusterConfig) mutualAddress(node int) string {
	return fmt.Sprintf("127.0.0.1:%d", s.mutual[node])
}

// replicationFactors returns the default number of replicas of a topic, and how many must
// have a record before it is acknowledged.
func (s *clusterConfig) replicationFactors() (replicas, inSync int) {
	if len(s.clients) >= 3 {
		return 3, 2
	}
	return 1, 1
}

// serverProperties returns server.properties of a node. If a setting occurs twice, the
// last line counts.
func (s *clusterConfig) serverProperties(node int, data string) string {
	protocol := "PLAINTEXT"
	if s.sasl != nil {
		protocol = "SASL_SSL"
	}
	var voters []string
	for i, port := range s.controllers {
		voters = append(voters, fmt.Sprintf("%d@127.0.0.1:%d", s.controllerID(i), port))
	}
	replicas, inSync := s.replicationFactors()
	lines := []string{
		fmt.Sprintf("node.id=%d", node),
		"controller.quorum.voters=" + strings.Join(voters, ","),
		"listener.security.protocol.map=CONTROLLER:PLAINTEXT,MUTUAL:SSL,CLIENTS:" + protocol,
		"controller.listener.names=CONTROLLER",
		"log.dirs=" + data,
		"auto.create.topics.enable=false",
		fmt.Sprintf("default.replication.factor=%d", replicas),
		fmt.Sprintf("min.insync.replicas=%d", inSync),
		fmt.Sprintf("offsets.topic.replication.factor=%d", replicas),
		"offsets.topic.num.partitions=3",
		fmt.Sprintf("transaction.state.log.replication.factor=%d", replicas),
		fmt.Sprintf("transaction.state.log.min.isr=%d", inSync),
		fmt.Sprintf("share.coordinator.state.topic.replication.factor=%d", replicas),
		fmt.Sprintf("share.coordinator.state.topic.min.isr=%d", inSync),
		"unclean.leader.election.enable=false",
		"group.initial.rebalance.delay.ms=0",
		// For this long, the other nodes still see a killed broker as a leader, and its
		// restart waits.
		"broker.session.timeout.ms=6000",
		"broker.heartbeat.interval.ms=1000",
		// The default is 128 MiB, half of the heap.
		"log.cleaner.dedupe.buffer.size=4194304",
	}
	lines = append(lines, s.roleProperties(node)...)
	if s.sasl != nil {
		lines = append(lines, s.certificate.brokerProperties()...)
		lines = append(lines, s.authProperties()...)
	}
	return strings.Join(append(lines, s.properties...), "\n") + "\n"
}

// authProperties returns the settings for authentication and authorization.
func (s *clusterConfig) authProperties() []string {
	mechanisms := "SCRAM-SHA-256"
	lines := []string{
		"sasl.mechanism.inter.broker.protocol=SCRAM-SHA-256",
		fmt.Sprintf(`listener.name.clients.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="%s" password="%s";`,
			s.sasl.Username, s.sasl.Password),
		"listener.name.mutual.ssl.client.auth=required",
	}
	if len(s.users) > 0 {
		mechanisms = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"
		plain := "listener.name.clients.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required"
		for name, password := range s.users {
			plain += fmt.Sprintf(` user_%s="%s"`, name, password)
		}
		lines = append(lines, plain+";",
			"listener.name.clients.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;")
	}
	if s.authorize {
		lines = append(lines, "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
			// The controllers' own connections have no user here.
			"super.users=User:ANONYMOUS;User:"+s.sasl.Username)
	}
	return append(lines, "sasl.enabled.mechanisms="+mechanisms)
}

// controllerID returns the node number of the i-th controller.
func (s *clusterConfig) controllerID(i int) int {
	if s.dedicated {
		return len(s.clients) + i
	}
	return i
}

// roleProperties returns the settings for a node's role and listeners.
func (s *clusterConfig) roleProperties(node int) []string {
	if node >= len(s.clients) {
		return []string{"process.roles=controller", fmt.Sprintf("listeners=CONTROLLER://127.0.0.1:%d", s.controllers[node-len(s.clients)])}
	}
	listeners := "CLIENTS://" + s.clientAddress(node)
	if len(s.mutual) > 0 {
		listeners += ",MUTUAL://" + s.mutualAddress(node)
	}
	lines := []string{"advertised.listeners=" + listeners, "inter.broker.listener.name=CLIENTS"}
	if s.dedicated {
		return append(lines, "process.roles=broker", "listeners="+listeners)
	}
	return append(lines, "process.roles=broker,controller",
		fmt.Sprintf("listeners=%s,CONTROLLER://127.0.0.1:%d", listeners, s.controllers[node]))
}
