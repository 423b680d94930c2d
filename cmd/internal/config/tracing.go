package config

import (
	"fmt"
	"net/url"
	"regexp"
)

// maxTracingHeaders bounds the headers of a request to the collector.
const maxTracingHeaders = 16

// headerForm is the form of the names of HTTP headers.
var headerForm = regexp.MustCompile(`^[A-Za-z0-9!#$%&'*+.^_|~-]{1,64}$`)

// TracesURL returns the URL that takes the traces; empty if nothing is traced.
func (t *Tracing) TracesURL() string {
	u, err := url.Parse(t.Endpoint)
	if t.Endpoint == "" || err != nil {
		return ""
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	return u.String()
}

func (c *Config) validateTracing(report reporter) {
	t := &c.Tracing
	u, err := url.Parse(t.Endpoint)
	if t.Endpoint != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "") {
		report("tracing.endpoint", "want a URL such as http://127.0.0.1:4318, with credentials in tracing.headers")
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		report("tracing", "certFile and keyFile are given together or not at all")
	}
	if t.Endpoint == "" && (len(t.Headers) > 0 || t.CAFile != "" || t.CertFile != "" || t.TrustCallers) {
		report("tracing", "has no effect: set tracing.endpoint")
	}
	if len(t.Headers) > maxTracingHeaders {
		report("tracing.headers", "%d of them: at most %d", len(t.Headers), maxTracingHeaders)
	}
	for i, h := range t.Headers {
		path := fmt.Sprintf("tracing.headers[%d]", i)
		if !headerForm.MatchString(h.Name) {
			report(path+".name", "%.80q is no name of a header", h.Name)
		}
		if h.Value.IsZero() {
			report(path+".value", "a value is needed")
		}
	}
}
