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
	"github.com/quarrysearch/quarry/schemas/code"
)

// Policy says which clone URLs git may see. The zero value allows https to
// public addresses only.
type Policy struct {
	// Schemes are the allowed ones among https, http, ssh, git and file. Empty
	// means https alone. A path counts as file.
	Schemes []string
	// Roots are directories below which a repository may be read by path. Empty
	// means none, whatever Schemes says. Symbolic links are resolved before the
	// comparison, on both sides.
	Roots []string
	// Networks are those outside the public Internet that a host may resolve to:
	// 10.0.0.0/8, 127.0.0.0/8, … Empty means none.
	Networks []netip.Prefix
	// Resolve finds the addresses of a host. Default: net.DefaultResolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

// source is a clone URL that the policy accepted.
type source struct {
	scheme string
	// url is what git fetches from; empty for file.
	url string
	// host, port and addrs pin the name to the addresses that were checked.
	host, port string
	addrs      []netip.Addr
	// path is the resolved directory of a repository that is read by path.
	path string
}

func (s source) isLocal() bool { return s.scheme == "file" }

// Check reports why git may not see the clone URL, or nil. Errors wrap
// ErrRefused, or ErrUnreachable if a host has no address, or ErrVanished if a
// path does not exist.
func (p Policy) Check(ctx context.Context, cloneURL string) error {
	_, err := p.checkURL(ctx, cloneURL)
	return err
}

func (p Policy) checkURL(ctx context.Context, cloneURL string) (source, error) {
	parsed, err := code.ParseCloneURL(cloneURL)
	if err != nil {
		return source{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	schemes := p.Schemes
	if len(schemes) == 0 {
		schemes = []string{"https"}
	}
	if !slices.Contains(schemes, parsed.Scheme) && !(parsed.Scheme == "file" && len(p.Roots) > 0 && len(p.Schemes) == 0) {
		return source{}, fmt.Errorf("%w: scheme %s is not allowed here; allowed are %s", ErrRefused, parsed.Scheme, strings.Join(schemes, ", "))
	}
	if parsed.Scheme == "file" {
		return p.checkPath(cloneURL)
	}
	return p.checkHost(ctx, cloneURL, parsed)
}

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
	return fmt.Errorf("%w: %s is not below an allowed directory (%s); the operator of the server can allow one with git.allowedRoots, or quarry serve --git-root", ErrRefused, path, allowed)
}

// openBelow opens a directory below one of the roots, and follows no link that leads
// out of the root. Errors are those of checkPath.
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
		// The path may have become a link since it was resolved: one that leaves the
		// root fails here.
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

// checkHost resolves the host and refuses it if any of its addresses is outside
// the public Internet and the allowed networks. One bad address among good ones
// refuses the host: which of them git would take is chance.
func (p Policy) checkHost(ctx context.Context, cloneURL string, parsed code.CloneURL) (source, error) {
	host, port := splitHost(parsed)
	addrs, err := p.resolveHost(ctx, host)
	if err != nil {
		return source{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	for i, a := range addrs {
		addrs[i] = a.Unmap().WithZone("")
		if !isPublic(addrs[i]) && !p.isAllowed(addrs[i]) {
			return source{}, fmt.Errorf("%w: %s is %s, an address outside the public Internet; allow its network with git.allowedNetworks", ErrRefused, host, addrs[i])
		}
	}
	return source{scheme: parsed.Scheme, url: cloneURL, host: host, port: port, addrs: addrs}, nil
}

func splitHost(parsed code.CloneURL) (host, port string) {
	if h, p, err := net.SplitHostPort(parsed.Host); err == nil {
		return h, p
	}
	port = map[string]string{"https": "443", "http": "80", "ssh": "22", "git": "9418"}[parsed.Scheme]
	return strings.Trim(parsed.Host, "[]"), port
}

func (p Policy) resolveHost(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	resolve := p.Resolve
	if resolve == nil {
		resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	addrs, err := resolve(ctx, host)
	if err == nil && len(addrs) == 0 {
		err = fmt.Errorf("%s has no address", host)
	}
	return addrs, err
}

func (p Policy) isAllowed(a netip.Addr) bool {
	return slices.ContainsFunc(p.Networks, func(n netip.Prefix) bool { return n.Contains(a) })
}

// specialPrefixes are the blocks of the IANA registries of special-purpose addresses that
// netip has no predicate for. IPv6 blocks that embed an IPv4 address are refused
// entirely: no code host uses them, and unwrapping them is error-prone.
var specialPrefixes = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"),
	netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"),
}

// isPublic reports whether a is an ordinary address of the public Internet.
func isPublic(a netip.Addr) bool {
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() {
		return false
	}
	return !slices.ContainsFunc(specialPrefixes, func(n netip.Prefix) bool { return n.Contains(a) })
}
