package mirror

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Access describes how git reaches a repository at its code host, and the credentials
// that it uses. The zero value is a direct connection without credentials.
type Access struct {
	// CloneURL replaces the repository's clone URL for git, for example where a host is
	// reached over ssh. Empty means the repository's own. The policy checks it.
	CloneURL string
	// Username and Password are the credentials for http(s).
	Username, Password string
	// Proxy is the URL of an http proxy for http(s), including its user and password if
	// it requires them. The proxy resolves the host name: the operator who configured it
	// decides what it reaches, not the policy.
	Proxy string
	// CAFile is a PEM file of trusted authorities. Empty means those of the system.
	CAFile string
	// SSHKeyFile is the private key for ssh; KnownHostsFile contains the host keys. Empty
	// means those of the user that runs the process.
	SSHKeyFile, KnownHostsFile string
}

// secrets returns the texts that must not appear in an error, in every form that git
// receives.
func (a Access) secrets() []string {
	var secrets []string
	if a.Password != "" {
		secrets = append(secrets, a.Password, a.basicToken())
	}
	if a.Proxy != "" {
		secrets = append(secrets, a.Proxy)
	}
	if a.Username != "" && a.Password != "" && len(a.Username) >= minMaskedUser {
		secrets = append(secrets, a.Username) // may be a token, on some hosts
	}
	return secrets
}

// minMaskedUser is the minimum length of a user name that is masked because it may be a
// token; shorter ones stay readable.
const minMaskedUser = 20

func (a Access) basicToken() string {
	return base64.StdEncoding.EncodeToString([]byte(a.Username + ":" + a.Password))
}

// resolveSource decides how git reaches a repository. It reads access and policy again at
// every call, so that a new credential or address takes effect immediately.
func (m *Mirror) resolveSource(ctx context.Context, r code.Repository) (source, error) {
	o := &m.ms.o
	parsed, err := code.ParseCloneURL(r.CloneURL)
	if o.Access == nil || err != nil || parsed.Scheme == "file" {
		return o.Policy.checkURL(ctx, r.CloneURL)
	}
	access, err := o.Access(ctx, r)
	if err != nil {
		return source{}, fmt.Errorf("access of repository %s: %w", m.id, err)
	}
	cloneURL := r.CloneURL
	if access.CloneURL != "" {
		cloneURL = access.CloneURL
	}
	var src source
	if access.Proxy != "" {
		src, err = o.Policy.checkProxied(cloneURL)
	} else {
		src, err = o.Policy.checkURL(ctx, cloneURL)
	}
	src.access = access
	return src, err
}

// remoteEnvironment returns the environment of a command that contacts the host. settings are
// settings of git, each followed by its value.
func (ms *Mirrors) remoteEnvironment(s source, settings ...string) []string {
	return s.environment(ms.o.SSHCommand, ms.git.hasVersion(versionCurlResolve), settings...)
}

// environment returns the variables that git needs to reach the source: the checked
// addresses, the credentials, the proxy and the authorities. All of it goes through the
// environment because, unlike arguments, other users cannot read it.
func (s source) environment(sshCommand string, canPin bool, config ...string) []string {
	if s.scheme == "https" || s.scheme == "http" {
		config = append(config, s.httpConfig(canPin)...)
	}
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(config)/2)}
	for i := 0; i < len(config); i += 2 {
		n := strconv.Itoa(i / 2)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+config[i], "GIT_CONFIG_VALUE_"+n+"="+config[i+1])
	}
	return append(env, s.pinnedEnvironment(sshCommand)...)
}

// httpConfig returns git settings, each followed by its value.
func (s source) httpConfig(canPin bool) []string {
	var config []string
	if s.access.Proxy != "" {
		config = append(config, "http.proxy", s.access.Proxy)
	} else if canPin {
		config = append(config, "http.curloptResolve", s.curlResolveEntry())
	}
	if s.access.Password != "" || s.access.Username != "" {
		config = append(config, "http.extraHeader", "Authorization: Basic "+s.access.basicToken())
	}
	if s.access.CAFile != "" {
		config = append(config, "http.sslCAInfo", s.access.CAFile)
	}
	return config
}

// maskSecrets removes the secrets of a command from git's output. The general masking
// cannot recognize a token of 40 hexadecimal digits, which looks like an object name.
func maskSecrets(text string, secrets []string) string {
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	return text
}
