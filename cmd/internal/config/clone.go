package config

import (
	"crypto/x509"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Clone defines how git accesses the repositories of a connection. The files are read at
// every fetch.
type Clone struct {
	User           string `yaml:"user" doc:"User name for git. Empty: the name that the kind of host expects with a token, or git with sshKeyFile; for gerrit, the user of the connection."`
	Token          Secret `yaml:"token" doc:"Token only for git, as env:NAME or file:PATH; a literal value is rejected. Empty: the token of the connection."`
	SSHKeyFile     string `yaml:"sshKeyFile" doc:"Private key without a passphrase. If set, git clones over SSH regardless of the clone URL, and knownHostsFile is required."`
	KnownHostsFile string `yaml:"knownHostsFile" doc:"Host keys in known_hosts format. A host whose key is not listed is rejected."`
	SSHHost        string `yaml:"sshHost" doc:"SSH host and port, such as ssh.example.org:2222. Empty: the host of url with the default port of the kind."`
}

// maxAuthorityBytes bounds the size of a CA file that is checked.
const maxAuthorityBytes = 4 << 20

func (c *Connection) validateClone(path string, report reporter) {
	if c.Clone.Token.inPlace() {
		report(path+".clone.token", "a token is never given in place: write env:NAME or file:PATH")
	}
	c.validateProxy(path, report)
	if c.CAFile != "" {
		if why := checkAuthorities(c.CAFile); why != "" {
			report(path+".caFile", "%s", why)
		}
	}
	for _, f := range []struct{ key, file string }{{"sshKeyFile", c.Clone.SSHKeyFile}, {"knownHostsFile", c.Clone.KnownHostsFile}} {
		switch info, err := os.Stat(f.file); {
		case f.file == "":
		case !filepath.IsAbs(f.file) || strings.ContainsAny(f.file, "\"%$\\\n\r"):
			report(path+".clone."+f.key, `want an absolute path without ", %%, $ and \: ssh gives them a meaning`)
		case err != nil:
			report(path+".clone."+f.key, "%v", err)
		case !info.Mode().IsRegular():
			report(path+".clone."+f.key, "%s is no file", f.file)
		}
	}
	switch {
	case c.Clone.SSHKeyFile != "" && c.Clone.KnownHostsFile == "":
		report(path+".clone.knownHostsFile", "sshKeyFile needs it: write what ssh-keyscan says of the host, after comparing it with what the host publishes")
	case c.Clone.SSHKeyFile != "" && !c.Clone.Token.IsZero():
		report(path+".clone.token", "give either token or sshKeyFile")
	case c.Clone.SSHKeyFile == "" && (c.Clone.KnownHostsFile != "" || c.Clone.SSHHost != ""):
		report(path+".clone.sshKeyFile", "knownHostsFile and sshHost need it")
	case c.Clone.SSHKeyFile != "" && c.Kind == "gerrit" && c.Clone.User == "" && c.User == "":
		report(path+".clone.user", "gerrit wants a user for SSH")
	case c.Kind == "gerrit" && c.User == "" && c.Clone.User == "" && !(c.Token.IsZero() && c.Clone.Token.IsZero()):
		report(path+".user", "gerrit wants the user of the HTTP password")
	}
	if h := c.Clone.SSHHost; h != "" {
		if u, err := url.Parse("ssh://" + h); err != nil || u.Host != h || u.Hostname() == "" || strings.HasPrefix(h, "-") {
			report(path+".clone.sshHost", "want a host, or host:port")
		}
	}
}

// validateProxy checks the proxy without showing it, because it may contain a password.
func (c *Connection) validateProxy(path string, report reporter) {
	if c.Proxy.IsZero() {
		return
	}
	value, err := c.Proxy.Value()
	if err != nil {
		return // reported together with the other secrets
	}
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "":
		report(path+".proxy", "want the URL of an HTTP proxy, such as http://proxy.example.org:3128")
	case c.Proxy.inPlace() && u.User != nil:
		report(path+".proxy", "a password is never given in place: write env:NAME or file:PATH")
	case c.Clone.SSHKeyFile != "":
		report(path+".proxy", "git by SSH does not go through it; leave out clone.sshKeyFile or proxy")
	}
}

// checkAuthorities returns an error text if a file contains no certificates.
func checkAuthorities(path string) string {
	if !filepath.IsAbs(path) {
		return "want an absolute path"
	}
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxAuthorityBytes))
	if err != nil {
		return err.Error()
	}
	if !x509.NewCertPool().AppendCertsFromPEM(b) {
		return path + " holds no certificate in PEM"
	}
	return ""
}
