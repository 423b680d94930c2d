package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quarrysearch/quarry/pipeline/netguard"
	"github.com/quarrysearch/quarry/query/publicurl"
)

// These are the bounds of search contexts. A query compares the name of every repository
// with every glob of its contexts.
const (
	maxContexts     = 1000
	maxScipPackages = 1000
	maxContextGlobs = 1000 // include and exclude together
	maxGlobBytes    = 256
)

// nameForm is the form of names that are used in URLs and queries.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Validate returns an error that lists every invalid setting with its path.
func (c *Config) Validate() error { return c.validate(true) }

// validate is Validate. It reads the secrets only if secrets is set.
func (c *Config) validate(secrets bool) error {
	var errs []error
	report := func(path, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: %s: %s", ErrInvalid, path, fmt.Sprintf(format, args...)))
	}
	c.validateEnums(report)
	c.validateNumbers(report)
	c.validateAddresses(report)
	c.validateTracing(report)
	c.validateLog(report)
	c.validateStorage(report)
	c.validateShard(report)
	c.validateGit(report)
	if c.Pipeline.Ctags != "" && !filepath.IsAbs(c.Pipeline.Ctags) {
		report("pipeline.ctags", "%q is not an absolute path", c.Pipeline.Ctags)
	}
	c.validateAccess(report)
	c.validateOIDC(report)
	c.validateLimits(report)
	c.validateAudit(report)
	c.validateDiscovery(report)
	c.validateConnections(report)
	c.validateContexts(report)
	c.validatePackages(report)
	if secrets {
		c.validateSecrets(report)
	}
	return errors.Join(errs...)
}

type reporter func(path, format string, args ...any)

func (c *Config) validateEnums(report reporter) {
	walkFields(reflect.ValueOf(c).Elem(), "", func(path string, f reflect.StructField, v reflect.Value) {
		want := allowedValues(f)
		if want == nil {
			return
		}
		values, ok := v.Interface().([]string)
		if !ok {
			values = []string{v.String()}
		}
		for _, value := range values {
			if !slices.Contains(want, value) {
				report(path, "%q is not one of %s", value, strings.Join(nonEmpty(want), ", "))
			}
		}
	})
	if len(c.Roles) == 0 {
		report("roles", "a process without a role does nothing")
	}
}

func nonEmpty(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" })
}

// minSessionTimeout allows for four heartbeats.
const minSessionTimeout = 2 * time.Second

func (c *Config) validateNumbers(report reporter) {
	atLeast := func(path string, value, least int64) {
		if value < least {
			report(path, "%d is too small: at least %d", value, least)
		}
	}
	zeroOrAtLeast := func(path string, value, least int64) {
		if value != 0 {
			atLeast(path, value, least)
		}
	}
	atLeast("log.partitions", int64(c.Log.Partitions), 0)
	atLeast("log.kafka.replicationFactor", int64(c.Log.Kafka.ReplicationFactor), 0)
	atLeast("storage.minFreeBytes", int64(c.Storage.MinFreeBytes), 16<<20)
	atLeast("log.kafka.sessionTimeout in nanoseconds", int64(c.Log.Kafka.SessionTimeout), int64(minSessionTimeout))
	atLeast("storage.scrubBytesPerSecond", int64(c.Storage.ScrubBytesPerSecond), 0)
	atLeast("git.maxMirrorBytes", int64(c.Git.MaxMirrorBytes), 1<<20)
	atLeast("git.fetchTimeout in nanoseconds", int64(c.Git.FetchTimeout), 1)
	atLeast("snapshots.interval in nanoseconds", int64(c.Snapshots.Interval), 0)
	atLeast("snapshots.keep", int64(c.Snapshots.Keep), 1)
	atLeast("git.collectAfter in nanoseconds", int64(c.Git.CollectAfter), 0)
	atLeast("ingest.maxBodyBytes", int64(c.Ingest.MaxBodyBytes), 1<<10)
	atLeast("ingest.appendTimeout in nanoseconds", int64(c.Ingest.AppendTimeout), 1)
	atLeast("pipeline.concurrency", int64(c.Pipeline.Concurrency), 0)
	atLeast("ingest.maxBacklog", int64(c.Ingest.MaxBacklog), 1)
	atLeast("pipeline.maxAhead", int64(c.Pipeline.MaxAhead), 1)
	atLeast("pipeline.builders", int64(c.Pipeline.Builders), 0)
	zeroOrAtLeast("pipeline.segmentBytes", int64(c.Pipeline.SegmentBytes), max(8<<20, 2*int64(c.Pipeline.MaxFileBytes)))
	atLeast("pipeline.maxFiles", int64(c.Pipeline.MaxFiles), 0)
	atLeast("pipeline.maxRefs", int64(c.Pipeline.MaxRefs), 1)
	atLeast("pipeline.maxFileBytes", int64(c.Pipeline.MaxFileBytes), 1<<10)
	atLeast("pipeline.purgeAfter in nanoseconds", int64(c.Pipeline.PurgeAfter), 0)
	atLeast("pipeline.maxAttempts", int64(c.Pipeline.MaxAttempts), 1)
	atLeast("pipeline.hostPatience in nanoseconds", int64(c.Pipeline.HostPatience), 1)
	atLeast("pipeline.reconcileInterval in nanoseconds", int64(c.Pipeline.ReconcileInterval), 0)
	atLeast("pipeline.reconcileGrace in nanoseconds", int64(c.Pipeline.ReconcileGrace), 1)
	atLeast("pipeline.reconcileConcurrency", int64(c.Pipeline.ReconcileConcurrency), 1)
	atLeast("scip.keepUploads", int64(c.Scip.KeepUploads), 1)
	atLeast("scip.maxUploadBytes", int64(c.Scip.MaxUploadBytes), 1<<10)
	atLeast("scip.maxTotalBytes", int64(c.Scip.MaxTotalBytes), 0)
	atLeast("query.timeout in nanoseconds", int64(c.Query.Timeout), 1)
	atLeast("query.maxConcurrent", int64(c.Query.MaxConcurrent), 0)
	atLeast("query.maxWaiting", int64(c.Query.MaxWaiting), 1)
	atLeast("query.maxWait in nanoseconds", int64(c.Query.MaxWait), 1)
	zeroOrAtLeast("query.maxLag in nanoseconds", int64(c.Query.MaxLag), int64(2*time.Second))
	atLeast("query.positionWait in nanoseconds", int64(c.Query.PositionWait), 1)
	atLeast("query.maxHeavy", int64(c.Query.MaxHeavy), 0)
	atLeast("query.maxHeavyWaiting", int64(c.Query.MaxHeavyWaiting), 1)
	zeroOrAtLeast("query.maxMemoryBytes", int64(c.Query.MaxMemoryBytes), 1<<20)
	zeroOrAtLeast("query.totalMemoryBytes", int64(c.Query.TotalMemoryBytes), 1<<20)
	atLeast("query.maxResultBytes", int64(c.Query.MaxResultBytes), 1<<10)
	atLeast("query.maxMatches", int64(c.Query.MaxMatches), 1)
	atLeast("query.maxBodyBytes", int64(c.Query.MaxBodyBytes), 1<<10)
	zeroOrAtLeast("cache.framesBytes", int64(c.Cache.FramesBytes), 1<<20)
	zeroOrAtLeast("cache.blocksBytes", int64(c.Cache.BlocksBytes), 1<<20)
	zeroOrAtLeast("cache.logBytes", int64(c.Cache.LogBytes), 1<<20)
	zeroOrAtLeast("runtime.memoryBytes", int64(c.Runtime.MemoryBytes), 256<<20)
	zeroOrAtLeast("runtime.memoryLimitBytes", int64(c.Runtime.MemoryLimitBytes), 1<<20)
	atLeast("runtime.gcPercent", int64(c.Runtime.GCPercent), 0)
	atLeast("runtime.drainTimeout in nanoseconds", int64(c.Runtime.DrainTimeout), 1)
	atLeast("runtime.shutdownDelay in nanoseconds", int64(c.Runtime.ShutdownDelay), 0)
}

func (c *Config) validateAddresses(report reporter) {
	for _, a := range []struct{ path, address string }{{"listen", c.Listen}, {"metricsListen", c.MetricsListen}} {
		if a.path == "metricsListen" && (a.address == MetricsAuto || a.address == MetricsMain || a.address == MetricsNone) {
			continue
		}
		if !isHostPort(a.address) {
			words := ""
			if a.path == "metricsListen" {
				words = ", or " + metricsWords
			}
			report(a.path, "%q is no address: want host:port with a port up to 65535, such as 127.0.0.1:7070%s", a.address, words)
		}
	}
	if c.PublicURL != "" {
		if _, err := publicurl.Parse(c.PublicURL); err != nil {
			report("publicUrl", "%v", err)
		}
	}
	if (c.TLS.CertFile == "") != (c.TLS.KeyFile == "") {
		report("tls", "certFile and keyFile are given together or not at all")
	}
	if (c.PeerTLS.CertFile == "") != (c.PeerTLS.KeyFile == "") {
		report("peerTls", "certFile and keyFile are given together or not at all")
	}
	if c.PeerTLS.ClientCertificates && (c.PeerTLS.CertFile == "" || c.PeerTLS.CAFile == "") {
		report("peerTls.clientCertificates", "needs certFile, and caFile with the authorities of the callers")
	}
	if c.TLS.CertFile != "" && strings.HasPrefix(c.PublicURL, "http://") {
		report("publicUrl", "%q: with tls.certFile, the server speaks https only", c.PublicURL)
	}
	if c.Data == "" {
		report("data", "a directory is needed")
	}
}

// isHostPort reports whether an address is a host and a port that exists.
func isHostPort(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	_, err = net.LookupPort("tcp", port)
	return err == nil
}

func (c *Config) validateLog(report reporter) {
	if c.Log.Driver == "kafka" && len(c.Log.Kafka.Brokers) == 0 {
		report("log.kafka.brokers", "log.driver kafka needs at least one host:port")
	}
	if c.Log.Driver == "embedded" && len(c.Roles) > 0 && len(c.Roles) < 3 {
		report("roles", "the embedded log lives in one process: give it all roles (ingest, pipeline, query), or set log.driver to kafka")
	}
	for _, b := range c.Log.Kafka.Brokers {
		if !isHostPort(b) {
			report("log.kafka.brokers", "%q is no host:port", b)
		}
	}
	if (c.Log.Kafka.TLS.CertFile == "") != (c.Log.Kafka.TLS.KeyFile == "") {
		report("log.kafka.tls", "certFile and keyFile are given together or not at all")
	}
	if sasl := c.Log.Kafka.SASL; sasl.Mechanism != "" && (sasl.Username == "" || sasl.Password.IsZero()) {
		report("log.kafka.sasl", "%s needs username and password", sasl.Mechanism)
	}
}

func (c *Config) validateStorage(report reporter) {
	for setting, dir := range map[string]string{"storage.log": c.Storage.Log, "storage.projections": c.Storage.Projections, "storage.accounts": c.Storage.Accounts, "storage.mirrors": c.Storage.Mirrors} {
		if strings.HasPrefix(dir, bucketScheme) {
			report(setting, "%q: only storage.segments can be in a bucket", dir)
		}
	}
	bucket, folder := c.SegmentsBucket()
	ok, s3 := c.SegmentsInBucket(), c.Storage.S3
	switch {
	case ok && folder != "" && path.Clean("/"+folder) != "/"+folder:
		report("storage.segments", "%q: write the folder without empty parts, . and ..", c.Storage.Segments)
	case ok && bucket == "":
		report("storage.segments", "%q names no bucket: write s3://BUCKET or s3://BUCKET/FOLDER", c.Storage.Segments)
	case !ok && s3 != S3{}:
		report("storage.s3", "has no effect: set storage.segments to s3://BUCKET or s3://BUCKET/FOLDER")
	}
	if (s3.AccessKeyID == "") != s3.SecretAccessKey.IsZero() {
		report("storage.s3", "accessKeyId and secretAccessKey are given together or not at all")
	}
	if (s3.Encryption == "aws:kms") != (s3.KMSKeyID != "") {
		report("storage.s3", "kmsKeyId is given with encryption aws:kms, and only then")
	}
	if u, err := url.Parse(s3.Endpoint); s3.Endpoint != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		report("storage.s3.endpoint", "%q: want a URL such as https://s3.example.org", s3.Endpoint)
	}
}

// validateShard checks the settings of shards and fronts, except the shares, which the log
// decides.
func (c *Config) validateShard(report reporter) {
	s := &c.Shard
	if s.IsZero() {
		return
	}
	switch {
	case s.Share != "" && len(s.Peers) > 0:
		report("shard", "share makes the process a shard and peers make it a front: set one of them")
	case len(s.Peers) == 0 && (s.Share == "" || s.Listen == ""):
		report("shard", "share and listen are given together: a shard answers fronts")
	case len(s.Peers) > 0 && s.Listen != "":
		report("shard.listen", "has no effect: only a process with shard.share serves fronts")
	}
	if s.Listen != "" && !isHostPort(s.Listen) {
		report("shard.listen", "%q is no host:port", s.Listen)
	}
	for _, p := range s.Peers {
		if _, address, named := strings.Cut(p, "@"); !isHostPort(p) && (!named || !isHostPort(address)) {
			report("shard.peers", "%q is no host:port or SHARE@HOST:PORT", p)
		}
	}
	if len(c.Roles) != 1 || !c.Has(RoleQuery) {
		report("roles", "a shard or a front has the role query alone: workers and webhooks need processes without shard.share and shard.peers")
	}
	if c.Access.Secret.IsZero() {
		report("access.secret", "shards and fronts need the same one: their connections are signed with it")
	}
}

func (c *Config) validateGit(report reporter) {
	for _, root := range c.Git.AllowedRoots {
		if !filepath.IsAbs(root) {
			report("git.allowedRoots", "%q is not an absolute path", root)
		}
	}
	if c.Git.Listen != "" && !isHostPort(c.Git.Listen) {
		report("git.listen", "%q is no host:port", c.Git.Listen)
	}
	for _, p := range c.Git.Peers {
		if !isHostPort(p) {
			report("git.peers", "%q is no host:port", p)
		}
	}
	if (c.Git.Listen != "" || len(c.Git.Peers) > 0) && c.Access.Secret.IsZero() {
		report("access.secret", "git.listen and git.peers need the same one in all processes: their connections are signed with it")
	}
	checkNetworks("git.allowedNetworks", c.Git.AllowedNetworks, report)
	checkNetworks("git.deniedNetworks", c.Git.DeniedNetworks, report)
}

func checkNetworks(path string, networks []string, report reporter) {
	for _, network := range networks {
		if _, err := netip.ParsePrefix(network); err != nil {
			report(path, "%q is no network: want an address and a length, such as 10.0.0.0/8", network)
		}
	}
}

// metadataNetworks is the default of git.deniedNetworks.
func metadataNetworks() []string {
	texts := make([]string, len(netguard.MetadataNetworks))
	for i, network := range netguard.MetadataNetworks {
		texts[i] = network.String()
	}
	return texts
}

func (c *Config) validatePackages(report reporter) {
	if len(c.Scip.Packages) > maxScipPackages {
		report("scip.packages", "%d of them: at most %d", len(c.Scip.Packages), maxScipPackages)
	}
	seen := map[string]bool{}
	for i, p := range c.Scip.Packages {
		path := fmt.Sprintf("scip.packages[%d]", i)
		manager, name, _ := strings.Cut(p.Package, " ")
		switch {
		case manager == "" || name == "" || strings.Contains(strings.TrimSuffix(p.Package, "*"), "*"):
			report(path+".package", "%.80q: want a package manager and a name, such as npm @meadow/kettle; * only at the end", p.Package)
		case seen[p.Package]:
			report(path+".package", "%q is given twice", p.Package)
		}
		seen[p.Package] = true
		if p.Repository == "" {
			report(path+".repository", "the full name of a repository is needed")
		}
	}
}

func (c *Config) validateContexts(report reporter) {
	if len(c.Query.Contexts) > maxContexts {
		report("query.contexts", "%d of them: at most %d", len(c.Query.Contexts), maxContexts)
	}
	seen := map[string]bool{}
	for i, context := range c.Query.Contexts {
		path := fmt.Sprintf("query.contexts[%d]", i)
		switch {
		case !nameForm.MatchString(context.Name):
			report(path+".name", "%.80q: want 1 to 64 letters, digits, dashes or underscores", context.Name)
		case seen[context.Name]:
			report(path+".name", "%q is given twice", context.Name)
		}
		seen[context.Name] = true
		if len(context.Include) == 0 {
			report(path+".include", "at least one glob is needed: ** selects all repositories")
		}
		globs := slices.Concat(context.Include, context.Exclude)
		if len(globs) > maxContextGlobs {
			report(path, "%d globs: at most %d", len(globs), maxContextGlobs)
		}
		for _, glob := range globs {
			if glob == "" || len(glob) > maxGlobBytes {
				report(path, "%.80q is no glob of 1 to %d bytes", glob, maxGlobBytes)
			}
		}
	}
}
