package doctor

import (
	"context"
	"crypto/tls"
	"net/url"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/schemas/network"
)

// secretFiles are the secret files that a server creates in its data directory.
var secretFiles = []string{"secret.key", operator.FileName, operator.SetupFileName}

func checkConfiguration(_ context.Context, x *Examination, r *report) {
	for _, w := range x.Warnings {
		r.addWarning("see docs/configuration.md", "%s", w)
	}
	if len(x.Warnings) == 0 {
		r.addOK("the settings are valid")
	}
}

func checkSecrets(_ context.Context, x *Examination, r *report) {
	secrets := x.Config.Secrets()
	for _, s := range secrets {
		if err := config.CheckSecret(s); err != nil {
			r.addProblem("set it in the environment of the server, and here so that quarry doctor can check it", "%s (%s): %v", s.Path, s.Secret,
				err)
		}
	}
	if len(r.findings) == 0 {
		r.addOK("%d secrets of the configuration can be read", len(secrets))
	}
}

// checkAddresses checks who can reach the server, and what callers without a credential
// may do.
func checkAddresses(_ context.Context, x *Examination, r *report) {
	c := x.Config
	public, _ := url.Parse(c.PublicURL) // validated, or empty
	away := c.PublicURL != "" && !network.IsLoopback(public.Hostname())
	if (!c.Loopback() || away) && c.AnonymousAllowed() {
		r.addWarning("set access.anonymous to off, unless this is intended",
			"anyone who can reach the server can read public repositories without signing in, and new repositories are %s",
			c.Access.DefaultVisibility)
	}
	if !c.Loopback() && c.PublicURL == "" {
		r.addWarning("set publicUrl",
			"the server listens on %s, and publicUrl is not set: links point to that address, and requests for any host name are answered", c.Listen)
	}
	if away && public.Scheme == "http" {
		r.addWarning("set tls.certFile or put a proxy with TLS in front, and set publicUrl to https",
			"passwords, cookies and keys are sent over the network unencrypted: publicUrl is %s", c.PublicURL)
	}
	if c.Loopback() && away && len(c.Access.TrustedProxies) == 0 {
		r.addWarning("set access.trustedProxies to the address of the proxy",
			"rate limits and the audit log cannot see clients behind the proxy of %s", c.PublicURL)
	}
	if !c.Loopback() && len(c.Access.OIDC) > 0 && c.PublicURL == "" {
		r.addProblem("set publicUrl to the address that the provider redirects users to", "single sign-on does not work without publicUrl")
	}
	checkMetricsAddress(c, r)
	if len(r.findings) == 0 {
		r.addOK("listen is %s, anonymous requests are %s", c.Listen, map[bool]string{true: "allowed", false: "refused"}[c.AnonymousAllowed()])
	}
}

// checkMetricsAddress checks who can read the metrics. Counters reveal what callers may
// not read, such as how many files a search of others loads.
func checkMetricsAddress(c *config.Config, r *report) {
	if !c.MetricsToken.IsZero() {
		return
	}
	what := "/metrics" + map[bool]string{true: " and /debug/pprof/"}[c.Runtime.Pprof]
	switch {
	case c.MetricsListen == config.MetricsMain:
		r.addWarning("set metricsListen to auto or to an address that only Prometheus can reach, or set metricsToken",
			"anyone who can reach the server can read %s: metricsListen is %s", what, c.MetricsListen)
	case !c.MetricsLoopback():
		r.addWarning("set metricsToken", "anyone who can reach %s can read %s", c.MetricsListen, what)
	}
}

// certificateReserve is the time before the expiry of a certificate from which it must have
// been renewed: authorities renew those of 90 days after 60.
const certificateReserve = 14 * 24 * time.Hour

func checkCertificate(_ context.Context, x *Examination, r *report) {
	if x.Config.TLS.CertFile == "" {
		r.addOK("the main listener speaks HTTP")
	} else {
		x.checkCertificateFiles(r, "tls", x.Config.TLS)
	}
	if c := x.Config.PeerTLS; c.CertFile != "" {
		x.checkCertificateFiles(r, "peerTls", config.TLS{CertFile: c.CertFile, KeyFile: c.KeyFile})
	}
}

func (x *Examination) checkCertificateFiles(r *report, setting string, c config.TLS) {
	pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		r.addProblem("correct "+setting+".certFile and "+setting+".keyFile, as the user of the server", "%v", err)
		return
	}
	switch end := pair.Leaf.NotAfter; {
	case !end.After(x.Now()):
		r.addProblem("renew it: the server reads the new files within a minute", "the certificate in %s expired at %s", c.CertFile,
			end.UTC().Format(time.RFC3339))
	case end.Sub(x.Now()) < certificateReserve:
		r.addWarning("renew it: the server reads the new files within a minute", "the certificate in %s expires at %s", c.CertFile,
			end.UTC().Format(time.RFC3339))
	default:
		r.addOK("the certificate in %s is valid until %s", c.CertFile, end.UTC().Format(time.RFC3339))
	}
}
