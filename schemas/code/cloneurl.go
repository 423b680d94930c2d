package code

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// ErrCloneURL reports that a clone URL is not one that Quarry passes to git.
var ErrCloneURL = errors.New("clone URL is not usable")

// CloneURL is a parsed clone URL. Parsing is lexical only: the code that runs git decides
// whether the host may be contacted or the path read.
type CloneURL struct {
	// Scheme is https, http, ssh, git or file.
	Scheme string
	// Host is in lower case, with the port unless it is the scheme's default; empty for
	// file.
	Host string
	// Path has no leading slash, no trailing slash and no ".git"; its case is preserved.
	Path string
}

var (
	transportHelper = regexp.MustCompile(`^[A-Za-z0-9+.-]+::`)
	scpForm         = regexp.MustCompile(`^(?:([A-Za-z0-9._-]+)@)?([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):([^/].*|/[^/].*)$`)
)

// defaultPorts holds the ports that CloneURL.Host omits.
var defaultPorts = map[string]string{"https": "443", "http": "80", "ssh": "22", "git": "9418"}

// ParseCloneURL parses a URL, the scp form user@host:path or an absolute path. It rejects
// anything that could make git run a program or leak a secret: transport helpers
// (ext::…), a leading dash, control characters, a password. Errors wrap ErrCloneURL and
// do not repeat a password.
func ParseCloneURL(s string) (CloneURL, error) {
	if err := checkCloneURLBytes(s); err != nil {
		return CloneURL{}, err
	}
	if strings.HasPrefix(s, "/") {
		return newCloneURL("file", "", s)
	}
	if !strings.Contains(s, "://") {
		if m := scpForm.FindStringSubmatch(s); m != nil {
			return newCloneURL("ssh", m[2], m[3])
		}
		return CloneURL{}, fmt.Errorf("%w: %.80q is no URL, no user@host:path and no absolute path", ErrCloneURL, s)
	}
	u, err := url.Parse(s)
	if err != nil {
		// The error of net/url repeats its input, including a password.
		return CloneURL{}, fmt.Errorf("%w: it does not parse as a URL", ErrCloneURL)
	}
	return fromURL(u)
}

// NormalizeCloneURL returns s in the form that is passed to git, which takes HTTP:// for a
// transport helper and sends a space as it is: scheme and host are in lower case, and the
// path is escaped. Other forms than URLs are returned unchanged.
func NormalizeCloneURL(s string) (string, error) {
	if _, err := ParseCloneURL(s); err != nil || strings.HasPrefix(s, "/") || !strings.Contains(s, "://") {
		return s, err
	}
	scheme, rest, _ := strings.Cut(s, "://")
	host, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	at := strings.LastIndexByte(host, '@') + 1 // the user's case is kept
	normal := strings.ToLower(scheme) + "://" + host[:at] + strings.ToLower(host[at:])
	for i := range len(path) {
		if c := path[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			normal += fmt.Sprintf("%%%02X", c)
		} else {
			normal += path[i : i+1]
		}
	}
	if len(normal) > MaxURLBytes {
		return "", fmt.Errorf("%w: more than %d bytes after its path is escaped", ErrCloneURL, MaxURLBytes)
	}
	return normal, nil
}

func checkCloneURLBytes(s string) error {
	switch {
	case s == "" || len(s) > MaxURLBytes:
		return fmt.Errorf("%w: want 1 to %d bytes, have %d", ErrCloneURL, MaxURLBytes, len(s))
	case s[0] == '-':
		return fmt.Errorf("%w: it begins with a dash", ErrCloneURL)
	case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("%w: it holds a control character", ErrCloneURL)
	case transportHelper.MatchString(s):
		return fmt.Errorf("%w: transport helpers (name::address) are not allowed", ErrCloneURL)
	}
	return nil
}

func fromURL(u *url.URL) (CloneURL, error) {
	scheme := strings.ToLower(u.Scheme)
	_, hasPassword := u.User.Password()
	switch {
	case scheme != "file" && defaultPorts[scheme] == "":
		return CloneURL{}, fmt.Errorf("%w: scheme %.20q: want https, http, ssh, git or file", ErrCloneURL, u.Scheme)
	case hasPassword || u.User != nil && scheme != "ssh":
		return CloneURL{}, fmt.Errorf("%w: it holds credentials; configure them for the connection instead", ErrCloneURL)
	case u.RawQuery != "" || u.Fragment != "":
		return CloneURL{}, fmt.Errorf("%w: a query or fragment is not allowed", ErrCloneURL)
	case scheme == "file" && u.Host != "" && u.Host != "localhost":
		return CloneURL{}, fmt.Errorf("%w: file:// takes no host", ErrCloneURL)
	case scheme == "file":
		return newCloneURL(scheme, "", u.Path)
	}
	host := u.Host
	if u.Port() == defaultPorts[scheme] {
		host = strings.TrimSuffix(host, ":"+u.Port())
	}
	return newCloneURL(scheme, strings.TrimSuffix(host, ":"), u.Path)
}

func newCloneURL(scheme, host, p string) (CloneURL, error) {
	host = strings.ToLower(host)
	if strings.HasPrefix(host, "-") || host == "" && scheme != "file" {
		return CloneURL{}, fmt.Errorf("%w: the host is missing or begins with a dash", ErrCloneURL)
	}
	p = strings.TrimPrefix(path.Clean("/"+p), "/")
	p = strings.TrimSuffix(p, "/.git") // DIR/.git is the repository DIR
	p = strings.TrimSuffix(p, ".git")
	if p == "" || strings.HasSuffix(p, "/") {
		return CloneURL{}, fmt.Errorf("%w: the path is empty", ErrCloneURL)
	}
	if strings.HasPrefix(p, "-") || strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return CloneURL{}, fmt.Errorf("%w: the path begins with a dash or holds a control character", ErrCloneURL)
	}
	return CloneURL{Scheme: scheme, Host: host, Path: p}, nil
}

// Name returns the full name of a repository of which only the clone URL is known:
// host/path, or just the path for file.
func (c CloneURL) Name() string {
	if c.Host == "" {
		return c.Path
	}
	return c.Host + "/" + c.Path
}

// Same reports whether c and d name the same repository: their host and path are equal,
// whatever the scheme.
func (c CloneURL) Same(d CloneURL) bool { return c.Host == d.Host && c.Path == d.Path }

// RepositoryID returns the ID of a repository of which only the clone URL is known. It
// does not depend on the scheme.
func (c CloneURL) RepositoryID() RepositoryID { return NewRepositoryID(c.Host, c.Path) }
