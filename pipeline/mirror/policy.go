package mirror

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/pipeline/mirror/internal/ondisk"
	"github.com/quarrysearch/quarry/pipeline/netguard"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Policy decides which clone URLs git may use. The zero value allows only https to public
// addresses.
type Policy struct {
	// Schemes are the allowed schemes among https, http, ssh, git and file. Empty means
	// https only. A path counts as file.
	Schemes []string
	// Roots are directories below which a repository may be read by path. Empty means
	// none, whatever Schemes contains. Symbolic links are resolved before the comparison,
	// on both sides.
	Roots []string
	// Networks are the networks outside the public Internet that a host may resolve to:
	// 10.0.0.0/8, 127.0.0.0/8, … Empty means none.
	Networks []netip.Prefix
	// Denied are networks that no host may resolve to, even if they are public or in
	// Networks.
	Denied []netip.Prefix
	// Trust reports whether the operator configured a host and port, which may then have
	// a private address. See netguard.Guard.
	Trust func(host, port string) bool
	// Proxied reports whether a host and port may be reached through a proxy, which
	// resolves the name. Check then accepts the name as it is; a fetch without the proxy
	// resolves and checks it. Nil means that none is.
	Proxied func(host, port string) bool
	// Resolve returns the addresses of a host. Default: net.DefaultResolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

// source is a clone URL that the policy accepted.
type source struct {
	scheme string
	// url is the URL that git fetches from; empty for file.
	url string
	// host, port and addrs pin the name to the addresses that were checked.
	host, port string
	addrs      []netip.Addr
	// path is the resolved directory of a repository that is read by path.
	path string
	// access contains the credentials for git.
	access Access
}

func (s source) isLocal() bool { return s.scheme == "file" }

// Check returns nil if git may use the clone URL, or else the reason. Errors wrap
// ErrRefused, or ErrUnreachable if a host has no address, or ErrVanished if a path does
// not exist.
func (p Policy) Check(ctx context.Context, cloneURL string) error {
	parsed, err := p.checkScheme(cloneURL)
	if err == nil && p.Proxied != nil && isHTTP(parsed.Scheme) && p.Proxied(splitHost(parsed)) {
		return nil // only the proxy resolves its address
	}
	if err == nil {
		_, err = p.checkURL(ctx, cloneURL)
	}
	return err
}

func (p Policy) checkURL(ctx context.Context, cloneURL string) (source, error) {
	parsed, err := p.checkScheme(cloneURL)
	if err != nil {
		return source{}, err
	}
	if parsed.Scheme == "file" {
		return p.checkPath(cloneURL)
	}
	return p.checkHost(ctx, cloneURL, parsed)
}

// checkScheme parses a clone URL and refuses a scheme that is not allowed.
func (p Policy) checkScheme(cloneURL string) (code.CloneURL, error) {
	parsed, err := code.ParseCloneURL(cloneURL)
	if err != nil {
		return parsed, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	schemes := p.Schemes
	if len(schemes) == 0 {
		schemes = []string{"https"}
	}
	if !slices.Contains(schemes, parsed.Scheme) && !(parsed.Scheme == "file" && len(p.Roots) > 0 && len(p.Schemes) == 0) {
		return parsed, fmt.Errorf("%w: scheme %s is not allowed here; allowed are %s", ErrRefused, parsed.Scheme, strings.Join(schemes, ", "))
	}
	return parsed, nil
}

// checkProxied replaces checkURL for a source behind a proxy, which resolves the name.
// Options.Access returns a proxy only for hosts that the operator configured.
func (p Policy) checkProxied(cloneURL string) (source, error) {
	parsed, err := p.checkScheme(cloneURL)
	if err != nil {
		return source{}, err
	}
	host, port := splitHost(parsed)
	if !isHTTP(parsed.Scheme) {
		return source{}, fmt.Errorf("%w: scheme %s does not go through a proxy", ErrRefused, parsed.Scheme)
	}
	normal, err := code.NormalizeCloneURL(cloneURL)
	if err != nil {
		return source{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return source{scheme: parsed.Scheme, url: normal, host: host, port: port}, nil
}

func isHTTP(scheme string) bool { return scheme == "https" || scheme == "http" }

// checkPath resolves the path of a clone URL and checks it against the roots.
func (p Policy) checkPath(cloneURL string) (source, error) {
	path := cloneURL
	if strings.HasPrefix(strings.ToLower(cloneURL), "file:") {
		u, err := url.Parse(cloneURL)
		if err != nil {
			return source{}, fmt.Errorf("%w: it does not parse as a URL", ErrRefused)
		}
		path = u.Path
	}
	if len(p.Roots) == 0 {
		return source{}, fmt.Errorf("%w: reading repositories by path is not allowed here; allow a directory with git.allowedRoots", ErrRefused)
	}
	resolved, err := filepath.EvalSymlinks(filepath.Clean(path))
	if err != nil {
		// Do not reveal whether a path outside the roots exists.
		if !p.isBelowRoot(filepath.Clean(path)) {
			return source{}, p.outsideError(path)
		}
		return source{}, fmt.Errorf("%w: %w", ErrVanished, err)
	}
	if !p.isBelowRoot(resolved) {
		return source{}, p.outsideError(path)
	}
	return source{scheme: "file", path: resolved}, nil
}

func (p Policy) outsideError(path string) error {
	allowed := strings.Join(p.Roots, ", ")
	if allowed == "" {
		allowed = "there is none"
	}
	return fmt.Errorf("%w: %s is not below an allowed directory (%s); the operator of the server can allow one with git.allowedRoots, quarry serve --git-root or make run GIT_ROOT=DIRECTORY", ErrRefused, path, allowed)
}

// openBelow opens a directory below one of the roots, and follows no link that leads out
// of the root. It returns the same errors as checkPath.
func (p Policy) openBelow(path string) (*os.Root, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		if !p.isBelowRoot(filepath.Clean(path)) {
			return nil, p.outsideError(path)
		}
		return nil, fmt.Errorf("%w: %w", ErrVanished, err)
	}
	for _, root := range p.Roots {
		root, err := filepath.EvalSymlinks(root)
		if err != nil {
			continue
		}
		rel, err := filepath.Rel(root, resolved)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		top, err := os.OpenRoot(root)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrVanished, err)
		}
		if rel == "." {
			return top, nil
		}
		// The path may have become a link since it was resolved; if the link leads out of
		// the root, this call fails.
		opened, err := ondisk.OpenRoot(top, rel)
		if err = errors.Join(err, top.Close()); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrVanished, err)
		}
		return opened, nil
	}
	return nil, p.outsideError(path)
}

// isBelowRoot reports whether a resolved path is one of the roots or below one.
func (p Policy) isBelowRoot(path string) bool {
	for _, root := range p.Roots {
		root, err := filepath.EvalSymlinks(root)
		if err != nil {
			continue
		}
		rel, err := filepath.Rel(root, path)
		if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// checkHost resolves the host and refuses it if any of its addresses may not be reached.
func (p Policy) checkHost(ctx context.Context, cloneURL string, parsed code.CloneURL) (source, error) {
	host, port := splitHost(parsed)
	addrs, err := p.Guard().Lookup(ctx, host, port)
	switch {
	case errors.Is(err, netguard.ErrRefused):
		return source{}, fmt.Errorf("%w: %w", ErrRefused, err)
	case err != nil:
		return source{}, err
	}
	normal, err := code.NormalizeCloneURL(cloneURL)
	if err != nil {
		return source{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	src := source{scheme: parsed.Scheme, url: normal, host: host, port: port, addrs: addrs}
	if src.scheme == "git" {
		src.url = src.addressURL()
	}
	return src, nil
}

// Guard returns the address check, which is also used for requests to the hosts' APIs.
func (p Policy) Guard() netguard.Guard {
	return netguard.Guard{Allow: p.Networks, Deny: p.Denied, Trust: p.Trust, Resolve: p.Resolve}
}

func splitHost(parsed code.CloneURL) (host, port string) {
	if h, p, err := net.SplitHostPort(parsed.Host); err == nil {
		return h, p
	}
	port = map[string]string{"https": "443", "http": "80", "ssh": "22", "git": "9418"}[parsed.Scheme]
	return strings.Trim(parsed.Host, "[]"), port
}
