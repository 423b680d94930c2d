package kafkalog_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	kafka "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl/scram"

	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/brokers"
	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
	"github.com/quarrysearch/quarry/schemas/clock/clocktest"
	"github.com/quarrysearch/quarry/schemas/event"
)

// clientPassword is the password of every user except the brokers' own.
const clientPassword = "right-horse"

// TestSecureBroker verifies the statements of scaling.md on a broker with TLS, users,
// certificates and access control lists.
func TestSecureBroker(t *testing.T) {
	cluster := kafkatest.StartWith(t, brokers.Options{
		SASL:      &kafkalog.SASL{Mechanism: "scram-sha-256", Username: "admin", Password: "admin-horse"},
		Users:     map[string]string{"ingest": clientPassword, "pipeline": clientPassword, "query": clientPassword},
		MutualTLS: true, Authorize: true,
	})
	admin := mustOpen(t, kafkalog.Options{Brokers: cluster.Addresses, SASL: cluster.SASL, TLS: cluster.TLS})
	for _, topic := range []event.Topic{event.TopicEvents, event.TopicDeadLetters, event.TopicAccounts, event.TopicAudit} {
		if err := admin.EnsureTopics(t.Context(), kafkalog.TopicSpec{Topic: topic, Partitions: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := admin.Append(t.Context(), topic, 0, textRecord("first")); err != nil {
			t.Fatal(err)
		}
	}
	s := &secured{T: t, cluster: cluster, lists: newLists(t, cluster)}
	t.Run("mechanisms", func(t *testing.T) { s.withTest(t).checkMechanisms() })
	t.Run("certificates", func(t *testing.T) { s.withTest(t).checkCertificates() })
	t.Run("rights", func(t *testing.T) { s.withTest(t).checkRights() })
}

// secured tests a broker that authenticates its clients.
type secured struct {
	*testing.T
	cluster *kafkatest.Cluster
	lists   *lists
}

func (s *secured) withTest(t *testing.T) *secured {
	return &secured{t, s.cluster, &lists{t, s.lists.client}}
}

// options returns the options for a user.
func (s *secured) options(user, mechanism, password string) kafkalog.Options {
	return kafkalog.Options{
		Brokers: s.cluster.Addresses, TLS: s.cluster.TLS, ConnectTimeout: time.Hour,
		SASL: &kafkalog.SASL{Mechanism: mechanism, Username: user, Password: password},
	}
}

// checkMechanisms authenticates with each mechanism, with the right and with a wrong
// password.
func (s *secured) checkMechanisms() {
	for _, mechanism := range []string{"plain", "scram-sha-256", "scram-sha-512"} {
		l, err := kafkalog.Open(s.Context(), s.options("query", mechanism, clientPassword))
		if err != nil {
			s.Errorf("%s: %v", mechanism, err)
			continue
		}
		if err := l.Close(); err != nil {
			s.Error(err)
		}
		_, err = kafkalog.Open(s.Context(), s.options("query", mechanism, "wrong-horse"))
		if !errors.Is(err, kafkalog.ErrRefused) || !strings.Contains(err.Error(), mechanism) || strings.Contains(err.Error(), "horse") {
			s.Errorf("%s with a wrong password: %v, want ErrRefused with the mechanism and without the password", mechanism, err)
		}
	}
}

// checkCertificates authenticates with a certificate, without one and with an expired
// one.
func (s *secured) checkCertificates() {
	s.lists.grant("CN=worker", right{"topic", string(event.TopicEvents), "Write"})
	for _, test := range []struct {
		name  string
		until time.Time // zero means no certificate
		works bool
	}{
		{"valid", time.Now().Add(time.Hour), true},
		{"expired", time.Now().Add(-time.Hour), false},
		{"none", time.Time{}, false},
	} {
		config := s.cluster.TLS.Clone()
		if !test.until.IsZero() {
			chain, key, err := s.cluster.ClientCertificate("worker", test.until)
			if err != nil {
				s.Fatal(err)
			}
			pair, err := tls.X509KeyPair(chain, key)
			if err != nil {
				s.Fatal(err)
			}
			config.Certificates = []tls.Certificate{pair}
		}
		l, err := kafkalog.Open(s.Context(), kafkalog.Options{Brokers: s.cluster.MutualAddresses, TLS: config, ConnectTimeout: time.Hour})
		if !test.works {
			if !errors.Is(err, kafkalog.ErrRefused) || !strings.Contains(err.Error(), "certificate") {
				s.Errorf("%s: %v, want ErrRefused that speaks of the certificate", test.name, err)
			}
			continue
		}
		if err != nil {
			s.Errorf("%s: %v", test.name, err)
			continue
		}
		if _, err := l.Append(s.Context(), event.TopicEvents, 0, textRecord("by certificate")); err != nil {
			s.Errorf("%s: %v", test.name, err)
		}
		if err := l.Close(); err != nil {
			s.Error(err)
		}
	}
}

// checkRights grants each role the permissions listed in scaling.md, and revokes one at a
// time. The roles share no permission, so they run in parallel.
func (s *secured) checkRights() {
	roles := documentedRights(s.T)
	for role, duties := range duties {
		if len(roles[role]) == 0 {
			s.Fatalf("scaling.md lists no rights of %s", role)
		}
		s.Run(role, func(t *testing.T) {
			t.Parallel()
			s.withTest(t).checkRole(role, roles[role], duties)
		})
	}
}

func (s *secured) checkRole(role string, rights []right, duties []duty) {
	s.lists.grant(role, rights...)
	if err := s.performDuties(role, duties); err != nil {
		s.Fatalf("with every right that scaling.md lists: %v", err)
	}
	for _, missing := range rights {
		s.lists.revoke(role, missing)
		err := s.performDuties(role, duties)
		// If Describe is missing too, the error mentions that Read and Write include it.
		named := err != nil && strings.Contains(err.Error(), " on "+missing.kind+" "+missing.name) &&
			strings.Contains(err.Error(), strings.ToUpper(missing.operation))
		if !errors.Is(err, kafkalog.ErrRefused) || !named {
			s.Errorf("without %s: %v, want ErrRefused that names both", missing, err)
		}
		s.lists.grant(role, missing)
	}
}

// A duty is one way in which a role uses the log.
type duty func(ctx context.Context, l *kafkalog.Log) error

var duties = map[string][]duty{
	"ingest": {
		start(), appendTo(event.TopicEvents), committed("quarry-workers"),
	},
	"pipeline": {
		start(), consume("quarry-workers"), consume("quarry-compactor"), consume("quarry-reconcile"), committed("quarry-workers"),
		committed("quarry-projections"), appendTo(event.TopicEvents), appendTo(event.TopicDeadLetters), tail(event.TopicEvents),
	},
	"query": {
		start(), tail(event.TopicEvents), tail(event.TopicDeadLetters), tail(event.TopicAccounts), tail(event.TopicAudit),
		appendTo(event.TopicEvents), appendTo(event.TopicDeadLetters), appendTo(event.TopicAccounts), appendTo(event.TopicAudit),
		committed("quarry-workers"), func(ctx context.Context, l *kafkalog.Log) error {
			return l.Note(ctx, "quarry-projections", event.TopicEvents, []event.Offset{0})
		},
	},
}

// start returns a duty that checks that the topics exist.
func start() duty {
	return func(ctx context.Context, l *kafkalog.Log) error {
		for _, topic := range []event.Topic{event.TopicEvents, event.TopicDeadLetters, event.TopicAccounts, event.TopicAudit} {
			if _, err := l.Partitions(ctx, topic); err != nil {
				return err
			}
		}
		return nil
	}
}

func appendTo(topic event.Topic) duty {
	return func(ctx context.Context, l *kafkalog.Log) error {
		_, err := l.Append(ctx, topic, 0, textRecord("x"))
		return err
	}
}

func committed(group string) duty {
	return func(ctx context.Context, l *kafkalog.Log) error {
		_, err := l.Committed(ctx, group, event.TopicEvents)
		return err
	}
}

func tail(topic event.Topic) duty {
	return func(ctx context.Context, l *kafkalog.Log) error {
		r, err := l.Tail(ctx, topic, 0, 0)
		if err == nil {
			_, err = r.Next(ctx)
			err = errors.Join(err, r.Close())
		}
		return err
	}
}

// errConsumed ends a member that has done its work.
var errConsumed = errors.New("consumed")

func consume(group string) duty {
	return func(ctx context.Context, l *kafkalog.Log) error {
		err := l.Join(ctx, group, event.TopicEvents, func(ctx context.Context, a eventlog.Assignment) error {
			rec, err := a.Next(ctx)
			if err == nil {
				// Not beyond the first record, so that there is always one left.
				err = a.Commit(ctx, rec.Position.Offset)
			}
			return errors.Join(err, errConsumed)
		})
		if errors.Is(err, errConsumed) && !errors.Is(err, kafkalog.ErrRefused) {
			return nil
		}
		return err
	}
}

// performDuties performs all duties of a role on a new log without cached state.
func (s *secured) performDuties(role string, duties []duty) error {
	l, err := kafkalog.Open(s.Context(), s.options(role, "scram-sha-512", clientPassword))
	if err != nil {
		return err
	}
	defer l.Close()
	ctx := clocktest.NewContext(s)
	for _, d := range duties {
		if err := d(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// right is one operation on a topic or group.
type right struct{ kind, name, operation string }

func (r right) String() string { return fmt.Sprintf("%s on %s %s", r.operation, r.kind, r.name) }

// documentedRights parses the table of scaling.md, by role.
func documentedRights(t *testing.T) map[string][]right {
	t.Helper()
	page, err := os.ReadFile("../../../docs/scaling.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| role | resource | rights |")
	roles := map[string][]right{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.Contains(line, "---") {
			if len(roles) > 0 {
				break
			}
			continue
		}
		kind, name, _ := strings.Cut(strings.TrimSpace(cells[2]), " ")
		for operation := range strings.SplitSeq(cells[3], ",") {
			role := strings.TrimSpace(cells[1])
			roles[role] = append(roles[role], right{kind, strings.Trim(name, "`"), strings.TrimSpace(operation)})
		}
	}
	return roles
}

// lists manages the access control lists of a cluster.
type lists struct {
	t      *testing.T
	client *kafka.Client
}

func newLists(t *testing.T, cluster *kafkatest.Cluster) *lists {
	mechanism, err := scram.Mechanism(scram.SHA256, cluster.SASL.Username, cluster.SASL.Password)
	if err != nil {
		t.Fatal(err)
	}
	transport := &kafka.Transport{TLS: cluster.TLS, SASL: mechanism}
	t.Cleanup(transport.CloseIdleConnections)
	return &lists{t, &kafka.Client{Addr: kafka.TCP(cluster.Addresses...), Timeout: time.Hour, Transport: transport}}
}

func (r right) types() (kafka.ResourceType, kafka.ACLOperationType) {
	resource := map[string]kafka.ResourceType{"topic": kafka.ResourceTypeTopic, "group": kafka.ResourceTypeGroup}[r.kind]
	operation := map[string]kafka.ACLOperationType{
		"Read": kafka.ACLOperationTypeRead, "Write": kafka.ACLOperationTypeWrite, "Describe": kafka.ACLOperationTypeDescribe,
	}[r.operation]
	return resource, operation
}

// grant grants permissions to a user.
func (l *lists) grant(user string, rights ...right) {
	l.t.Helper()
	var entries []kafka.ACLEntry
	for _, r := range rights {
		resource, operation := r.types()
		entries = append(entries, kafka.ACLEntry{
			ResourceType: resource, ResourceName: r.name, ResourcePatternType: kafka.PatternTypeLiteral,
			Principal: "User:" + user, Host: "*", Operation: operation, PermissionType: kafka.ACLPermissionTypeAllow,
		})
	}
	response, err := l.client.CreateACLs(l.t.Context(), &kafka.CreateACLsRequest{ACLs: entries})
	if err == nil {
		err = errors.Join(response.Errors...)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// revoke revokes a permission.
func (l *lists) revoke(user string, r right) {
	l.t.Helper()
	resource, operation := r.types()
	response, err := l.client.DeleteACLs(l.t.Context(), &kafka.DeleteACLsRequest{Filters: []kafka.DeleteACLsFilter{{
		ResourceTypeFilter: resource, ResourceNameFilter: r.name, ResourcePatternTypeFilter: kafka.PatternTypeLiteral,
		PrincipalFilter: "User:" + user, HostFilter: "*", Operation: operation, PermissionType: kafka.ACLPermissionTypeAllow,
	}}})
	if err == nil && (len(response.Results) != 1 || len(response.Results[0].MatchingACLs) != 1) {
		err = fmt.Errorf("%s of %s is not there: %+v", r, user, response.Results)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}
