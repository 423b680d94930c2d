package front

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// checkHost refuses requests for a host name that is not the server's: a page whose name
// suddenly resolves to this machine (DNS rebinding) would share the origin of the API. IP
// addresses and names without a dot cannot belong to such a page.
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

// hostSet returns the set of names, or nil if there are none.
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
