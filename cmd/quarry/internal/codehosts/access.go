package codehosts

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"path"
	"strings"

	"github.com/quarrysearch/quarry/pipeline/mirror"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Access returns how git accesses a repository. The credentials, key, proxy and CAs of a
// connection are used only for its repositories on its host. A repository that someone
// registers manually, or whose host sends another clone URL, gets none of them.
func (h *Hosts) Access(ctx context.Context, r code.Repository) (mirror.Access, error) {
	c := h.current.Load().connections[r.Connection]
	if r.Connection == "" || c == nil {
		return mirror.Access{}, nil
	}
	clone, err := code.ParseCloneURL(r.CloneURL)
	if err != nil || !c.serves(clone) {
		return mirror.Access{}, nil
	}
	if c.Clone.SSHKeyFile != "" {
		return c.sshAccess(clone), nil
	}
	if clone.Scheme != "https" && clone.Scheme != "http" {
		return mirror.Access{}, nil
	}
	access := mirror.Access{CAFile: c.CAFile}
	if !c.Proxy.IsZero() {
		if access.Proxy, err = c.Proxy.Value(); err != nil {
			return access, fmt.Errorf("connection %s: proxy: %w", c.Name, err)
		}
	}
	token, err := h.readToken(ctx, c)
	if err != nil || token == "" {
		return access, err
	}
	if clone.Scheme == "http" && (c.base == nil || c.base.Scheme != "http") {
		return access, fmt.Errorf("%w: connection %s does not send its token unencrypted; its url is not http", mirror.ErrRefused, c.Name)
	}
	access.Username, access.Password = c.basicCredentials(token)
	return access, nil
}

// readToken returns the token for git, or an empty string if the connection has none. It
// reads a token file every time, so that a new token is used at the next fetch.
func (h *Hosts) readToken(ctx context.Context, c *codeHost) (string, error) {
	secret := c.Clone.Token
	if secret.IsZero() {
		secret = c.Token
	}
	if secret.IsZero() {
		installation := (*h.installations.Load())[c.Name]
		if installation == nil {
			return "", nil
		}
		token, err := installation.Token(ctx)
		if err != nil {
			return "", fmt.Errorf("connection %s: token of the app: %w", c.Name, err)
		}
		return token, nil
	}
	token, err := secret.Value()
	if err != nil {
		return "", fmt.Errorf("connection %s: token: %w", c.Name, err)
	}
	return token, nil
}

// serves reports whether a clone URL is on the host of the connection. A generic host
// without a URL serves the URLs of its repositories.
func (c *codeHost) serves(clone code.CloneURL) bool {
	host := strings.ToLower(clone.Host)
	if c.base != nil {
		base := strings.ToLower(c.base.Host)
		if c.base.Port() == defaultPorts[c.base.Scheme] {
			base = strings.ToLower(c.base.Hostname())
		}
		return host == base || clone.Scheme == "ssh" && hostOnly(host) == strings.ToLower(c.base.Hostname())
	}
	for _, address := range c.repositoryURLs() {
		if known, err := code.ParseCloneURL(address); err == nil && known.Same(clone) {
			return true
		}
	}
	return false
}

func (c *codeHost) repositoryURLs() []string {
	urls := append([]string(nil), c.Discover.Repos...)
	for _, address := range c.Repositories {
		urls = append(urls, address)
	}
	return urls
}

func hostOnly(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}

// apiTokenUser is the git user for API tokens of Atlassian accounts, whose API expects
// the e-mail address instead.
const apiTokenUser = "x-bitbucket-api-token-auth"

// basicCredentials returns the user and password that git sends for a token. Hosts differ
// in where they expect the token.
func (c *codeHost) basicCredentials(token string) (user, password string) {
	switch c.Kind {
	case code.GitHub:
		return cmp.Or(c.Clone.User, "x-access-token"), token
	case code.GitLab:
		return cmp.Or(c.Clone.User, "oauth2"), token
	case code.Gitea:
		if user := cmp.Or(c.Clone.User, c.User); user != "" {
			return user, token
		}
		return token, "x-oauth-basic"
	case code.BitbucketCloud:
		user := c.User
		if strings.Contains(user, "@") {
			user = apiTokenUser
		}
		return cmp.Or(c.Clone.User, user, "x-token-auth"), token
	case code.BitbucketServer:
		return cmp.Or(c.Clone.User, c.User, "x-token-auth"), token
	case code.AzureDevOps:
		return cmp.Or(c.Clone.User, c.User, "user"), token
	}
	return cmp.Or(c.Clone.User, c.User, "git"), token
}

// sshAccess returns the SSH address of a repository, with the key of the connection.
func (c *codeHost) sshAccess(clone code.CloneURL) mirror.Access {
	access := mirror.Access{SSHKeyFile: c.Clone.SSHKeyFile, KnownHostsFile: c.Clone.KnownHostsFile}
	if clone.Scheme != "ssh" || c.Clone.SSHHost != "" {
		access.CloneURL = c.sshURL(clone)
	}
	return access
}

// sshURL derives the SSH clone URL of a repository from its HTTP clone URL.
func (c *codeHost) sshURL(clone code.CloneURL) string {
	address, repository := hostOnly(clone.Host), clone.Path
	if c.base != nil && clone.Scheme != "ssh" {
		below := strings.Trim(c.base.Path, "/")
		repository = strings.TrimPrefix(strings.TrimPrefix(repository, below), "/")
	}
	user, suffix := cmp.Or(c.Clone.User, "git"), ".git"
	switch c.Kind {
	case code.Gerrit:
		user, suffix = cmp.Or(c.Clone.User, c.User), ""
		repository = strings.TrimPrefix(repository, "a/")
	case code.BitbucketServer:
		repository = strings.TrimPrefix(repository, "scm/")
	case code.AzureDevOps:
		suffix = ""
		if address == "dev.azure.com" {
			address = "ssh.dev.azure.com"
			repository = "v3/" + strings.Replace(repository, "/_git/", "/", 1)
		}
	case code.GenericGitHost:
		suffix = "" // as written; git also tries NAME.git
	}
	if port := sshPorts[c.Kind]; port != "" {
		address = net.JoinHostPort(address, port)
	} else if strings.Contains(address, ":") {
		address = "[" + address + "]"
	}
	u := url.URL{Scheme: "ssh", User: url.User(user), Host: cmp.Or(c.Clone.SSHHost, address), Path: path.Join("/", repository) + suffix}
	return u.String()
}
