package front

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// checkHost refuses requests for a name that is not the server's: a page whose name
// suddenly leads to this machine (DNS rebinding) would be of the same origin as
// the API. Addresses, and names without a dot, cannot be such a page's.
func (f *Front) checkHost(next http.Handler) http.Handler {
	if f.hosts == nil {
		return next
	}
	refuse := f.Refuse(ErrHost)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(f.o.Probes, r.URL.Path) || f.isKnownHost(r.Host) {
			next.ServeHTTP(w, r)
			return
		}
		refuse.ServeHTTP(w, r)
	})
}

func (f *Front) isKnownHost(host string) bool {
	name := hostName(host)
	if !strings.Contains(name, ".") || f.hosts[name] || strings.HasSuffix(name, ".localhost") {
		return true
	}
	_, err := netip.ParseAddr(name)
	return err == nil
}

// hostName returns a host without its port, in lower case.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// hostSet returns the names, nil for none.
func hostSet(hosts []string) map[string]bool {
	if hosts == nil {
		return nil
	}
	set := make(map[string]bool, len(hosts))
	for _, h := range hosts {
		set[hostName(h)] = true
	}
	return set
}
