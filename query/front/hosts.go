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
		if slices.Contains(f.o.Probes, r.URL.Path) || f.hosts.contains(r.Host) {
			next.ServeHTTP(w, r)
			return
		}
		refuse.ServeHTTP(w, r)
	})
}

// HostsOnly refuses requests as a Front with these Hosts does. It is for handlers that
// have no Front.
func HostsOnly(hosts []string, next http.Handler) http.Handler {
	if hosts == nil {
		return next
	}
	known := newHostSet(hosts)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if known.contains(r.Host) {
			next.ServeHTTP(w, r)
			return
		}
		writeRefusal(w, http.StatusMisdirectedRequest, "MISDIRECTED_REQUEST", ErrHost.Error())
	})
}

// hostSet contains the names that a server accepts; nil accepts any.
type hostSet map[string]bool

// contains reports whether a request for a host is accepted.
func (s hostSet) contains(host string) bool {
	name := hostName(host)
	if !strings.Contains(name, ".") || s[name] || strings.HasSuffix(name, ".localhost") {
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

// newHostSet returns the set of names, or nil if there are none.
func newHostSet(hosts []string) hostSet {
	if hosts == nil {
		return nil
	}
	set := make(hostSet, len(hosts))
	for _, h := range hosts {
		set[hostName(h)] = true
	}
	return set
}
