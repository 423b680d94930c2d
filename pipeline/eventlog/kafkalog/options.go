package kafkalog

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// Options configures a Log. Only Brokers is required.
type Options struct {
	// Brokers are addresses, host:port, of some brokers of the cluster; the client
	// discovers the others.
	Brokers []string
	// ClientID identifies this client in the brokers' logs and quotas; empty means
	// "quarry".
	ClientID string
	// TLS is the configuration for encrypted connections; nil means plain text.
	TLS *tls.Config
	// SASL contains the credentials; nil means no authentication.
	SASL *SASL
	// ConnectTimeout bounds the wait for the first broker in Open, and DialTimeout one
	// attempt to connect; 0 means 15 s and 5 s.
	ConnectTimeout time.Duration
	DialTimeout    time.Duration
	// AppendTimeout bounds the attempts to append, after which Append fails with ErrFull.
	// 0 means 10 s.
	AppendTimeout time.Duration
	// Instance is the name under which this process rejoins its groups after a restart;
	// it must be unique among processes. The first member of each group then gets its
	// partitions back immediately, even after kill -9. Empty means that a new member has
	// to wait until the session of the dead one expires.
	Instance string
	// SessionTimeout is how long a member of a group may be silent before its partitions
	// are reassigned; 0 means DefaultSessionTimeout.
	SessionTimeout time.Duration
	// RebalanceTimeout is how long members have to finish their work when the group
	// changes; 0 means 30 s.
	RebalanceTimeout time.Duration
	// MaxWaitingBytes bounds the records of one partition that wait for the broker; 0
	// means 16 MiB. Above it Append returns ErrFull.
	MaxWaitingBytes int
	// Logger receives messages about outages that the log handles; nil discards them.
	Logger *slog.Logger
	// Metrics holds the metrics of the log; nil leaves them unregistered.
	Metrics *Metrics

	// wrap replaces a connection to a broker; tests set it.
	wrap func(net.Conn) net.Conn
}

// SASL contains the credentials of a client.
type SASL struct {
	// Mechanism is "plain", "scram-sha-256" or "scram-sha-512".
	Mechanism string
	Username  string
	Password  string
}

// DefaultSessionTimeout is the minimum that brokers accept by default
// (group.min.session.timeout.ms).
const DefaultSessionTimeout = 6 * time.Second

const (
	// heartbeatInterval bounds how long it takes a member to notice that its group
	// changes.
	heartbeatInterval = 500 * time.Millisecond
	// metadataTTL bounds how long it takes to notice a moved leader without an error.
	metadataTTL = 2 * time.Second
	// requestTimeout bounds one request. It far exceeds maxFetchWait.
	requestTimeout = 10 * time.Second
	// maxBrokers bounds Options.Brokers.
	maxBrokers = 100
)

func (o Options) withDefaults() (Options, error) {
	if len(o.Brokers) == 0 || len(o.Brokers) > maxBrokers {
		return o, fmt.Errorf("brokers: %d addresses, want 1 to %d", len(o.Brokers), maxBrokers)
	}
	for _, broker := range o.Brokers {
		if _, _, err := net.SplitHostPort(broker); err != nil {
			return o, fmt.Errorf("brokers: %q: want host:port", broker)
		}
	}
	if o.ClientID == "" {
		o.ClientID = "quarry"
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics(nil)
	}
	for _, d := range []struct {
		value *time.Duration
		unset time.Duration
	}{
		{&o.ConnectTimeout, 15 * time.Second},
		{&o.DialTimeout, 5 * time.Second},
		{&o.AppendTimeout, 10 * time.Second},
		{&o.SessionTimeout, DefaultSessionTimeout},
		{&o.RebalanceTimeout, 30 * time.Second},
	} {
		if *d.value <= 0 {
			*d.value = d.unset
		}
	}
	if o.MaxWaitingBytes <= 0 {
		o.MaxWaitingBytes = 16 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// newMechanism returns the credentials in the client library's form; nil if there are
// none.
func (s *SASL) newMechanism() (sasl.Mechanism, error) {
	if s == nil {
		return nil, nil
	}
	if s.Username == "" || s.Password == "" {
		return nil, errors.New("sasl: want a user name and a password")
	}
	switch s.Mechanism {
	case "plain":
		return plain.Mechanism{Username: s.Username, Password: s.Password}, nil
	case "scram-sha-256":
		return scram.Mechanism(scram.SHA256, s.Username, s.Password)
	case "scram-sha-512":
		return scram.Mechanism(scram.SHA512, s.Username, s.Password)
	}
	return nil, fmt.Errorf("sasl: mechanism %q: want plain, scram-sha-256 or scram-sha-512", s.Mechanism)
}
