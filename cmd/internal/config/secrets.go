package config

import (
	"fmt"

	"github.com/quarrysearch/quarry/cmd/internal/permissions"
)

// minSecretBytes are the minimum lengths of secrets that must not be guessed.
var minSecretBytes = map[string]int{"access.secret": 32, "metricsToken": 16}

// NamedSecret is a secret and the key of its setting.
type NamedSecret struct {
	Path string
	Secret
}

// Secrets returns every secret that is set, in the order of the file.
func (c *Config) Secrets() []NamedSecret {
	var out []NamedSecret
	add := func(path string, s Secret) {
		if !s.IsZero() {
			out = append(out, NamedSecret{path, s})
		}
	}
	add("metricsToken", c.MetricsToken)
	for i, header := range c.Tracing.Headers {
		add(fmt.Sprintf("tracing.headers[%d].value", i), header.Value)
	}
	if c.Log.Kafka.SASL.Mechanism != "" {
		add("log.kafka.sasl.password", c.Log.Kafka.SASL.Password)
	}
	add("storage.s3.secretAccessKey", c.Storage.S3.SecretAccessKey)
	add("access.secret", c.Access.Secret)
	for i, provider := range c.Access.OIDC {
		add(fmt.Sprintf("access.oidc[%d].clientSecret", i), provider.ClientSecret)
	}
	for i, connection := range c.Connections {
		path := fmt.Sprintf("connections[%d].", i)
		for j, secret := range connection.Secrets {
			out = append(out, NamedSecret{fmt.Sprintf("%ssecrets[%d]", path, j), secret})
		}
		add(path+"token", connection.Token)
		add(path+"clone.token", connection.Clone.Token)
		if !connection.Proxy.inPlace() { // a proxy that is set directly contains no password
			add(path+"proxy", connection.Proxy)
		}
		add(path+"app.privateKey", connection.App.PrivateKey)
	}
	return out
}

// CheckSecret returns an error if a secret cannot be used. The error shows no part of the
// secret.
func CheckSecret(s NamedSecret) error {
	value, err := s.Value()
	if least := minSecretBytes[s.Path]; err == nil && len(value) < least {
		err = fmt.Errorf("%d bytes: want at least %d", len(value), least)
	}
	return err
}

func (c *Config) validateSecrets(report reporter) {
	for _, s := range c.Secrets() {
		if err := CheckSecret(s); err != nil {
			report(s.Path, "%v", err)
		}
	}
}

// warnOfSecrets returns warnings about secrets that every user of this machine can read.
// It does not warn about secrets that a group can read, because administrators pass
// secrets to Quarry that way.
func (l Loader) warnOfSecrets(c *Config) (warnings []string) {
	warn := func(path, what string) {
		if a, open, err := permissions.Open(path); err == nil && open && a.ReadableByEverybody() {
			warnings = append(warnings, fmt.Sprintf("every user of this machine may read %s, which holds %s: %s", path, what, a.Command()))
		}
	}
	inPlace := 0
	for _, s := range c.Secrets() {
		if s.inPlace() {
			inPlace++
		}
		if path := s.File(); path != "" {
			warn(path, s.Path)
		}
	}
	for i, connection := range c.Connections {
		if path := connection.Clone.SSHKeyFile; path != "" {
			warn(path, fmt.Sprintf("connections[%d].clone.sshKeyFile", i))
		}
	}
	if path := c.Log.Kafka.TLS.KeyFile; path != "" {
		warn(path, "the key of log.kafka.tls")
	}
	if path := c.Tracing.KeyFile; path != "" {
		warn(path, "the key of tracing")
	}
	if path := c.PeerTLS.KeyFile; path != "" {
		warn(path, "the key of peerTls")
	}
	if l.File != "" && inPlace > 0 {
		warn(l.File, "secrets")
	}
	return append(warnings, l.secretFlags()...)
}
