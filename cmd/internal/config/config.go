package config

import (
	"time"
)

// Config contains every setting of quarry serve. The zero value is not useful: see
// Default.
type Config struct {
	Data          string       `yaml:"data" doc:"Directory for all data. Only one process can use it at a time."`
	Listen        string       `yaml:"listen" doc:"Listen address of the API, the web UI and the webhooks: the main listener."`
	MetricsListen string       `yaml:"metricsListen" doc:"Listen address of GET /metrics, the details of GET /readyz and pprof: the operators' listener. auto: a loopback address, at the port after that of listen; 127.0.0.1:7071 by default. main: metrics and pprof are served on the main listener. none: they are not served."`
	MetricsToken  Secret       `yaml:"metricsToken" doc:"Token that requests to the operators' listener must send as Authorization: Bearer TOKEN; at least 16 bytes. Empty: none is needed."`
	PublicURL     string       `yaml:"publicUrl" doc:"Public URL of the server, used in links: http or https, a host and, behind a proxy that shares the host, a path. Empty: http:// (https:// with tls.certFile) and the listen address."`
	TLS           TLS          `yaml:"tls" doc:"Certificate of the main listener. Empty: it speaks HTTP, for loopback and for a proxy that terminates TLS."`
	Roles         []string     `yaml:"roles" enum:"ingest,pipeline,query" doc:"Roles of this process. Without Kafka, one process must have all roles."`
	Logging       Logging      `yaml:"logging" doc:"Logging to standard error."`
	Tracing       Tracing      `yaml:"tracing" doc:"Traces of pushes and searches for an OpenTelemetry collector. Off by default."`
	Log           Log          `yaml:"log" doc:"The event log, the source of truth."`
	Storage       Storage      `yaml:"storage" doc:"Directories outside of data, and the scrub for damaged files."`
	Snapshots     Snapshots    `yaml:"snapshots" doc:"Snapshots of the index in the segment store, from which query nodes start instead of replaying the log."`
	Git           Git          `yaml:"git" doc:"What git may fetch, and limits for it."`
	Ingest        Ingest       `yaml:"ingest" doc:"The webhook receiver."`
	Pipeline      Pipeline     `yaml:"pipeline" doc:"The workers that fetch, analyze and build segments."`
	Query         Query        `yaml:"query" doc:"Search limits."`
	PeerTLS       PeerTLS      `yaml:"peerTls" doc:"Encryption of the connections between processes: those to shard.listen and git.listen. Empty: they are authenticated and not encrypted."`
	Shard         Shard        `yaml:"shard" doc:"The share of the text that this process holds, or the processes that hold it for this front. Empty: this process holds everything."`
	Scip          Scip         `yaml:"scip" doc:"Precise indexes uploaded by CI."`
	Access        Access       `yaml:"access" doc:"Who may send requests, and from where."`
	Limits        Limits       `yaml:"limits" doc:"Rate and concurrency limits per caller, which do not apply to the operator, and limits on connections."`
	Audit         Audit        `yaml:"audit" doc:"The record of who did what, and how long it is kept."`
	Cache         Cache        `yaml:"cache" doc:"Memory caches that reduce disk reads."`
	Runtime       Runtime      `yaml:"runtime" doc:"The Go runtime and shutdown."`
	Discovery     Discovery    `yaml:"discovery" doc:"Discovery of repositories through the APIs of code hosts."`
	Connections   []Connection `yaml:"connections" reload:"true" doc:"Code hosts that send webhooks or whose repositories are discovered through their API. Can only be set in the file."`
}

// TLS defines the certificate of the main listener.
type TLS struct {
	CertFile string `yaml:"certFile" doc:"PEM file of the certificate, followed by the intermediate ones. The listener then speaks HTTPS only (TLS 1.2 or later). A renewed file is used within a minute."`
	KeyFile  string `yaml:"keyFile" doc:"PEM file of its key."`
}

// PeerTLS encrypts the connections between processes.
type PeerTLS struct {
	CertFile           string `yaml:"certFile" doc:"PEM file of the certificate, followed by the intermediate ones. shard.listen and git.listen then speak TLS only (1.3), and connections to other processes present it. A renewed file is used within a minute."`
	KeyFile            string `yaml:"keyFile" doc:"PEM file of its key."`
	CAFile             string `yaml:"caFile" doc:"PEM file of the authorities of the certificates of shard.peers and git.peers: connections to them are encrypted, and their certificates must be valid for the host in the peer's address. A renewed file is used within a minute."`
	ClientCertificates bool   `yaml:"clientCertificates" doc:"Whether shard.listen and git.listen refuse callers without a certificate of an authority in caFile."`
}

// Logging defines what the process writes to its standard error.
type Logging struct {
	Level  string `yaml:"level" reload:"true" enum:"debug,info,warn,error" doc:"Minimum level of log messages."`
	Format string `yaml:"format" enum:"text,json" doc:"Format of log messages."`
	// Requests is the access log.
	Requests bool `yaml:"requests" reload:"true" doc:"Log each HTTP request at level info: method, route, path without its query, status, bytes of the response, duration, address and credential ID of the caller. Successful probes are left out. At level debug, requests are always logged."`
}

// Tracing defines which traces are exported, and where.
type Tracing struct {
	Endpoint     string          `yaml:"endpoint" doc:"URL of a collector that accepts OTLP over HTTP, such as http://127.0.0.1:4318. Without a path, it is /v1/traces. Empty: nothing is traced."`
	SampleRatio  Ratio           `yaml:"sampleRatio" doc:"Share of the pushes and requests whose traces are exported, from 0 to 1. The process that receives a push or a request decides for all others."`
	TrustCallers bool            `yaml:"trustCallers" doc:"Whether requests with a traceparent header continue the trace of their caller, who then decides whether it is exported. Set it only behind a gateway that removes this header from requests of strangers."`
	CAFile       string          `yaml:"caFile" doc:"PEM file of the authorities of the collector's certificate. Empty: those of the system."`
	CertFile     string          `yaml:"certFile" doc:"PEM file of the client certificate. A renewed file is used for the next connection."`
	KeyFile      string          `yaml:"keyFile" doc:"PEM file of the client key."`
	Headers      []TracingHeader `yaml:"headers" doc:"Headers of the requests to the collector. Can only be set in the file."`
}

// TracingHeader is a header of the requests to the collector.
type TracingHeader struct {
	Name  string `yaml:"name" doc:"Name of the header, such as Authorization."`
	Value Secret `yaml:"value" doc:"Value of the header, such as file:/etc/quarry/collector-authorization."`
}

// Log chooses the driver of the event log.
type Log struct {
	Driver     string `yaml:"driver" enum:"embedded,kafka" doc:"embedded stores the log in the data directory; kafka uses the brokers below."`
	Partitions int    `yaml:"partitions" doc:"Number of partitions of new topics. 0: one for the embedded log, four for Kafka. An existing log keeps its number."`
	Kafka      Kafka  `yaml:"kafka" doc:"Kafka settings, used if log.driver is kafka."`
}

// Kafka defines how to reach the brokers.
type Kafka struct {
	Brokers           []string  `yaml:"brokers" doc:"Addresses (host:port) of one or more brokers."`
	ReplicationFactor int       `yaml:"replicationFactor" doc:"Replication factor of new topics. 0: the default of the brokers."`
	AllowDataLoss     bool      `yaml:"allowDataLoss" doc:"Start even if the retention or compaction of quarry.events or quarry.accounts lets the brokers delete events."`
	SessionTimeout    Duration  `yaml:"sessionTimeout" doc:"Time without a heartbeat after which other workers take over the repositories of a worker. Brokers reject values below their group.min.session.timeout.ms, 6s by default."`
	TLS               KafkaTLS  `yaml:"tls" doc:"Encryption of connections to the brokers."`
	SASL              KafkaSASL `yaml:"sasl" doc:"Authentication with the brokers."`
}

// KafkaTLS encrypts the connection to the brokers.
type KafkaTLS struct {
	Enabled    bool   `yaml:"enabled" doc:"Use TLS."`
	CAFile     string `yaml:"caFile" doc:"PEM file of trusted certificate authorities. Empty: those of the system."`
	CertFile   string `yaml:"certFile" doc:"PEM file of the client certificate."`
	KeyFile    string `yaml:"keyFile" doc:"PEM file of the client key."`
	ServerName string `yaml:"serverName" doc:"Expected name in the broker's certificate. Empty: the host of the broker's address."`
}

// KafkaSASL authenticates to the brokers.
type KafkaSASL struct {
	Mechanism string `yaml:"mechanism" enum:",plain,scram-sha-256,scram-sha-512" doc:"SASL mechanism. Empty: none."`
	Username  string `yaml:"username" doc:"User name."`
	Password  Secret `yaml:"password" doc:"Password."`
}

// Storage moves directories out of Data. A directory that is not set is below Data.
type Storage struct {
	Log      string `yaml:"log" doc:"Directory of the embedded log. Empty: log in the data directory."`
	Segments string `yaml:"segments" doc:"Directory of the segment store, or s3://BUCKET or s3://BUCKET/FOLDER. Empty: segments in the data directory."`
	S3       S3     `yaml:"s3" doc:"Object storage, if storage.segments is in a bucket."`
	// ReplacesIdentity names the store that is given up, so a setting that is left behind
	// has no effect on the next one.
	ReplacesIdentity string `yaml:"replacesIdentity" doc:"Identity of the segment store that the operator gives up: the one in storage.segments takes its place. none: accept an empty one although the log names segments and no identity. Error messages tell when to set it."`
	Projections      string `yaml:"projections" doc:"Directory of the projections. Empty: projections in the data directory."`
	Accounts         string `yaml:"accounts" doc:"Directory of the accounts and the audit log. Empty: accounts in the data directory."`
	Mirrors          string `yaml:"mirrors" doc:"Directory of the git mirrors, a cache. Empty: mirrors in the data directory."`
	// MinFreeBytes is checked against the file system of each directory.
	MinFreeBytes Bytes `yaml:"minFreeBytes" doc:"Minimum free disk space. Below it, Quarry is read-only: webhooks and changes are answered with 503 and indexing stops, but searches continue."`
	// ScrubBytesPerSecond bounds the search for damaged files.
	ScrubBytesPerSecond Bytes `yaml:"scrubBytesPerSecond" doc:"Read rate of the daily scrub, which looks for damaged files in the log, the segments and the stores. 0: no scrub."`
}

// S3 contains the access to object storage.
type S3 struct {
	Endpoint        string `yaml:"endpoint" doc:"URL of an S3-compatible server that supports conditional writes (If-None-Match). Empty: Amazon S3."`
	Region          string `yaml:"region" doc:"Region of the bucket. Empty: as the server says."`
	PathStyle       bool   `yaml:"pathStyle" doc:"Address the bucket in the path of the URL instead of its host name, as most servers other than Amazon S3 want."`
	AccessKeyID     string `yaml:"accessKeyId" doc:"ID of the access key. Empty: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the shared credentials file, the web identity of a service account, or the role of the container or the machine."`
	SecretAccessKey Secret `yaml:"secretAccessKey" doc:"Secret of the access key."`
	CAFile          string `yaml:"caFile" doc:"File with further root certificates in PEM."`
	Encryption      string `yaml:"encryption" enum:",AES256,aws:kms" doc:"Encryption at the server. Empty: the default of the bucket."`
	KMSKeyID        string `yaml:"kmsKeyId" doc:"Key of the encryption aws:kms."`
}

// Snapshots defines when snapshots are created.
type Snapshots struct {
	Interval Duration `yaml:"interval" doc:"Interval at which one of the query nodes creates a snapshot. A snapshot keeps merged segments in the segment store as long as it exists. 0: only quarry snapshots create creates one."`
	Keep     int      `yaml:"keep" doc:"Number of snapshots to keep; older ones are deleted when another one is complete."`
}

// Git contains the policy on clone URLs and the bounds of git.
type Git struct {
	AllowedProtocols []string `yaml:"allowedProtocols" enum:"https,http,ssh,git,file" doc:"Allowed protocols of clone URLs. A local path counts as file and must also be within allowedRoots."`
	AllowedRoots     []string `yaml:"allowedRoots" doc:"Directories whose repositories may be registered by path. Empty: none."`
	AllowedNetworks  []string `yaml:"allowedNetworks" doc:"Networks (CIDR) outside the public internet that git and requests to code hosts may reach. Empty: only public addresses, and private addresses of the hosts in the url of connections."`
	DeniedNetworks   []string `yaml:"deniedNetworks" doc:"Networks (CIDR) that neither may reach, even if they are public or in allowedNetworks. Default: the metadata addresses of cloud providers, which hand out credentials of the machine."`
	FetchTimeout     Duration `yaml:"fetchTimeout" doc:"Timeout of one fetch."`
	MaxMirrorBytes   Bytes    `yaml:"maxMirrorBytes" doc:"Maximum size of a mirror on disk."`
	CollectAfter     Duration `yaml:"collectAfter" doc:"Time within which unreachable commits are removed from the mirrors of fetched repositories. 0: they are kept."`
	ServeUnreachable bool     `yaml:"serveUnreachable" doc:"Serve unreachable commits by ID to everyone who may read the repository, until they are removed from the mirrors. Off: they are not found."`
	Listen           string   `yaml:"listen" doc:"Listen address of a process with the role pipeline for the git reads of processes without mirrors. Only they may reach it. peerTls encrypts it. It needs access.secret, the same in all processes. Processes with other roles ignore it."`
	Peers            []string `yaml:"peers" doc:"Addresses (host:port) of the git.listen of all processes with the role pipeline, for a process with the role query and without pipeline: it asks them for history, blame, differences and revisions that are not indexed. All addresses of a host name are asked, and it is resolved every 10 s; at most 64. Empty: such requests fail with 503."`
}

// Ingest bounds the receiver.
type Ingest struct {
	MaxBodyBytes  Bytes    `yaml:"maxBodyBytes" doc:"Maximum size of a webhook body."`
	AppendTimeout Duration `yaml:"appendTimeout" doc:"Time that a webhook waits for the log before it is answered with 503."`
	MaxBacklog    int      `yaml:"maxBacklog" doc:"Maximum number of records that wait for the workers. Above it, webhooks are answered with 503."`
}

// Pipeline bounds the workers.
type Pipeline struct {
	Concurrency   int      `yaml:"concurrency" doc:"Number of repositories whose events are handled concurrently. 0: twice the number of CPUs, because fetches wait for the network, or fewer if memory is low."`
	MaxAhead      int      `yaml:"maxAhead" doc:"Maximum number of records by which the projections may lag behind the log. Above it, workers start no new work until the lag has halved."`
	Builders      int      `yaml:"builders" doc:"Number of large segments built concurrently by imports and merges. Each needs 1.6 times pipeline.segmentBytes of memory. 0: one per CPU, or fewer if memory is low."`
	SegmentBytes  Bytes    `yaml:"segmentBytes" doc:"Maximum text size of a segment. 0: 128 MiB, or less if memory is low. Every query visits every segment, so smaller segments make searches slower."`
	MaxFileBytes  Bytes    `yaml:"maxFileBytes" doc:"Maximum size of an indexed file. Larger files are listed as skipped."`
	Ctags         string   `yaml:"ctags" doc:"Absolute path of universal-ctags, built with sandbox and JSON support. It finds symbols in languages that Quarry does not support itself. Files that are already indexed do not change until their content does, so use the same setting for all workers of a log. Empty: none."`
	MaxFiles      int      `yaml:"maxFiles" doc:"Maximum number of files of an indexed repository. Each needs about 600 bytes of memory during the import. 0: as many as fit in a third of runtime.memoryBytes, at most 4,000,000."`
	MaxRefs       int      `yaml:"maxRefs" doc:"Maximum number of indexed branches and tags of one repository, at most 200,000. If more are selected, those with the newest commits are indexed, and the others are listed in the status of the repository. The default is 5,000."`
	MergeInterval Duration `yaml:"mergeInterval" doc:"How often segments are checked for dead text. Small segments are merged as they appear. 0: never merge."`
	PurgeAfter    Duration `yaml:"purgeAfter" doc:"Time within which the text of a removed repository or branch is deleted from disk. 0: whenever a merge drops it."`
	MaxAttempts   int      `yaml:"maxAttempts" doc:"Number of attempts before an event becomes a dead letter."`
	HostPatience  Duration `yaml:"hostPatience" doc:"How long an event is retried while its code host does not answer, before it becomes a dead letter."`
	// The following settings control reconciliation, which finds pushes without a
	// webhook.
	ReconcileInterval    Duration `yaml:"reconcileInterval" doc:"How often each repository is checked for pushes that no webhook announced. The checks are spread over the interval. 0: never."`
	ReconcileGrace       Duration `yaml:"reconcileGrace" doc:"How long Quarry waits for the webhook of a detected push before it indexes the push."`
	ReconcileConcurrency int      `yaml:"reconcileConcurrency" doc:"Number of repositories checked concurrently."`
}

// Scip bounds precise indexes.
type Scip struct {
	KeepUploads    int   `yaml:"keepUploads" doc:"Number of uploads kept per repository, path and indexer, the newest first; 1 to 64."`
	MaxUploadBytes Bytes `yaml:"maxUploadBytes" doc:"Maximum size of an upload."`
	MaxTotalBytes  Bytes `yaml:"maxTotalBytes" doc:"Maximum disk space of all precise indexes. Uploads that would exceed it are rejected."`
	// Packages overrides what manifests and the names of repositories say.
	Packages []ScipPackage `yaml:"packages" doc:"Which repository owns a package, where manifests and repository names do not decide it. Can only be set in the file."`
}

// ScipPackage names the repository that owns a package.
type ScipPackage struct {
	Package    string `yaml:"package" doc:"Package manager and name as in SCIP symbols, such as npm @meadow/kettle. A * at the end stands for any text; the longest match counts."`
	Repository string `yaml:"repository" doc:"Full name of the repository. Only its precise indexes define symbols of the package in other repositories."`
}

// Query bounds a search.
type Query struct {
	Timeout          Duration `yaml:"timeout" doc:"Timeout of a search. It then returns the results found so far."`
	MaxConcurrent    int      `yaml:"maxConcurrent" doc:"Maximum number of concurrent searches. Others wait. 0: four per CPU."`
	MaxWaiting       int      `yaml:"maxWaiting" doc:"Maximum number of searches that wait to start. Further ones are answered with 503."`
	MaxWait          Duration `yaml:"maxWait" doc:"Longest time that a search waits to start."`
	MaxLag           Duration `yaml:"maxLag" doc:"Longest time for which a process may be behind the event log, or unable to read its end, before its answers say that they may lack matches. At least 2s; 0: they never do."`
	PositionWait     Duration `yaml:"positionWait" doc:"Longest time that a search waits for its minPosition."`
	MaxHeavy         int      `yaml:"maxHeavy" doc:"Maximum number of concurrent heavy searches. They use the CPU time that other searches leave. 0: 32 per CPU."`
	MaxHeavyWaiting  int      `yaml:"maxHeavyWaiting" doc:"Maximum number of heavy searches that wait to continue. Further ones are answered with 503."`
	MaxMatches       int      `yaml:"maxMatches" doc:"Maximum number of matches in a response, regardless of the request."`
	MaxScanBytes     Bytes    `yaml:"maxScanBytes" doc:"Maximum amount of text that one search reads. 0: limited only by time."`
	MaxMemoryBytes   Bytes    `yaml:"maxMemoryBytes" doc:"Maximum memory that one search uses for matches and its response. 0: three quarters of query.totalMemoryBytes."`
	TotalMemoryBytes Bytes    `yaml:"totalMemoryBytes" doc:"The same limit for all searches together, not counting the first MiB of each. 0: an eighth of runtime.memoryBytes."`
	MaxResultBytes   Bytes    `yaml:"maxResultBytes" doc:"Maximum approximate size of a response as JSON. Further matches are counted but not returned."`
	MaxBodyBytes     Bytes    `yaml:"maxBodyBytes" doc:"Maximum size of a request body."`
	// Contexts are the values of the filter context:.
	Contexts []Context `yaml:"contexts" doc:"Search contexts: sets of repositories for the context: filter. Can only be set in the file."`
}

// Shard makes a process with the role query a shard or a front.
type Shard struct {
	Share  string   `yaml:"share" doc:"Share of the partitions of the log whose text this process holds: NUMBER/SHARES, with numbers from 0, such as 0/4; ordinal/SHARES, with the number at the end of the host name, as in a StatefulSet; or a list of partitions, such as 0,4-6. Only with the role query alone. If it changes, the partitions of both stay, and others are loaded or dropped: see docs/sharding.md."`
	Listen string   `yaml:"listen" doc:"Listen address for fronts, which a process with a share needs. Only fronts may reach it. peerTls encrypts it."`
	Peers  []string `yaml:"peers" doc:"Makes this process a front, which holds no text: the addresses (host:port) of the shards in the order of their shares, 0 first, or SHARE@HOST:PORT for each. The shares must be all partitions once, or, while partitions move, in several ways: see docs/sharding.md. Peers with the same share are its replicas, and so are all addresses of a host name, which is resolved every 10 s; at most 16 of each share. Only with the role query alone."`
}

// IsZero reports whether the process holds everything.
func (s *Shard) IsZero() bool { return s.Share == "" && s.Listen == "" && len(s.Peers) == 0 }

// Context is a set of repositories that queries select with context:NAME.
type Context struct {
	Name    string   `yaml:"name" doc:"Value for the context: filter: letters, digits, dashes and underscores."`
	Include []string `yaml:"include" doc:"Globs on full repository names: * matches any characters except a slash, ** any characters. A repository is in the set if one glob matches."`
	Exclude []string `yaml:"exclude" doc:"Globs of repositories that are not in the set, even if include matches."`
}

// Access defines which callers may send requests, and from where.
type Access struct {
	Anonymous         string   `yaml:"anonymous" enum:"auto,on,off" doc:"Whether requests without a credential may read public repositories. auto: on if listen is a loopback address and publicUrl, if set, is too."`
	DefaultVisibility string   `yaml:"defaultVisibility" enum:"public,internal,private" doc:"Visibility of a repository for which neither an owner nor the code host has set one."`
	Secret            Secret   `yaml:"secret" doc:"Secret for the hashes of API keys, tokens, sessions and invitations; at least 32 bytes. Must be the same in every process with the role query. Changing it invalidates all of them. Empty: secret.key in the data directory, created at the first start."`
	SessionTTL        Duration `yaml:"sessionTtl" doc:"Lifetime of a session."`
	InvitationTTL     Duration `yaml:"invitationTtl" doc:"Default lifetime of an invitation; at most 2160h."`
	TrustedProxies    []string `yaml:"trustedProxies" doc:"Addresses or networks (CIDR) of proxies whose X-Forwarded-For or Forwarded header is trusted for the client's address. Empty: the peer is the client."`
	AllowedOrigins    []string `yaml:"allowedOrigins" doc:"Other origins whose pages may use the API (CORS), such as https://tools.example; * allows any, without cookies. Empty: none."`
	Hosts             []string `yaml:"hosts" doc:"Additional host names that the API accepts. Host names are checked if listen is a loopback address or publicUrl is set. IP addresses, names without a dot and the host of publicUrl are always accepted; * allows any."`
	AdmitAll          bool     `yaml:"admitAll" doc:"Make everyone who signs in through single sign-on with a verified email address a member immediately. Off: users without an invitation wait for an owner's approval."`
	LinkByEmail       bool     `yaml:"linkByEmail" doc:"Link single sign-on identities to existing users by verified email address. This trusts the providers with every account."`
	OIDC              []OIDC   `yaml:"oidc" doc:"OpenID Connect providers for single sign-on. Can only be set in the file."`
}

// OIDC is an OpenID Connect provider. It redirects users to
// {publicUrl}/auth/oidc/{name}/callback.
type OIDC struct {
	Name           string   `yaml:"name" doc:"Name of the provider in URLs: letters, digits, dashes and underscores. The redirect URL is {publicUrl}/auth/oidc/{name}/callback."`
	Title          string   `yaml:"title" doc:"Display name on the sign-in button. Empty: the name."`
	Issuer         string   `yaml:"issuer" doc:"Issuer URL, exactly as in the provider's metadata: https, or http on loopback."`
	ClientID       string   `yaml:"clientId" doc:"Client ID registered with the provider."`
	ClientSecret   Secret   `yaml:"clientSecret" doc:"Client secret registered with the provider. Empty: a public client."`
	Scopes         []string `yaml:"scopes" doc:"Scopes to request in addition to openid. Empty: profile and email."`
	AllowedDomains []string `yaml:"allowedDomains" doc:"Domains of verified email addresses that may sign in. Empty: any."`
	HostClaim      string   `yaml:"hostClaim" doc:"ID token claim with the user's ID on a code host, such as github_id, for permissions.provider of connections. Empty: the subject, for a code host that is itself the provider."`
	TrustEmail     bool     `yaml:"trustEmail" doc:"Treat email addresses as verified if the provider does not report whether they are. Only for directories in which administrators set the addresses."`
}

// Limits bound the requests of one caller, and open connections.
type Limits struct {
	PerSecond          int `yaml:"perSecond" reload:"true" doc:"Requests per second per API key, token or signed-in user. 0: no limit."`
	Burst              int `yaml:"burst" reload:"true" doc:"Maximum burst of these requests."`
	AnonymousPerSecond int `yaml:"anonymousPerSecond" reload:"true" doc:"Requests per second per address without a valid credential. 0: no limit."`
	AnonymousBurst     int `yaml:"anonymousBurst" reload:"true" doc:"Maximum burst of these requests."`
	Streams            int `yaml:"streams" reload:"true" doc:"Maximum number of concurrent streams per caller. 0: only the limit for all callers applies."`
	// Connections and ConnectionsPerAddress bound what callers can hold open before they
	// have sent anything.
	Connections           int `yaml:"connections" doc:"Maximum number of open connections to the main listener. Further ones are closed immediately. Each is an open file. 0: no limit."`
	ConnectionsPerAddress int `yaml:"connectionsPerAddress" doc:"The same for one IPv4 address or one /64 network of IPv6 addresses. It does not apply to access.trustedProxies. 0: no limit."`
}

// Cache sizes the caches.
type Cache struct {
	FramesBytes Bytes `yaml:"framesBytes" doc:"Cache of decompressed segment text and symbols, outside the Go heap. 0: a share of runtime.memoryBytes."`
	BlocksBytes Bytes `yaml:"blocksBytes" doc:"Pebble block cache for postings and compressed text. 0: a share of runtime.memoryBytes."`
	LogBytes    Bytes `yaml:"logBytes" doc:"Pebble block cache for the embedded log. 0: a share of runtime.memoryBytes."`
}

// Runtime contains settings of the process as a whole.
type Runtime struct {
	MemoryBytes      Bytes    `yaml:"memoryBytes" doc:"Total memory of the server and its git commands. 0: 85 % of the limit of the control group or, without one, of the machine's memory, but then at most 1 GiB plus 256 MiB per CPU. GOMEMLIMIT lowers it."`
	MemoryLimitBytes Bytes    `yaml:"memoryLimitBytes" doc:"Soft limit of the Go heap. 0: runtime.memoryBytes minus the caches."`
	GCPercent        int      `yaml:"gcPercent" doc:"Garbage collection target percentage, as in GOGC, which overrides it. At most 30 while large segments are built. 0: Go's default."`
	DrainTimeout     Duration `yaml:"drainTimeout" doc:"Longest time from SIGTERM until the process exits."`
	ShutdownDelay    Duration `yaml:"shutdownDelay" doc:"How long a process that a load balancer probes at GET /readyz answers it with 503 after SIGTERM, while it serves requests, before it closes its listener. At most half of runtime.drainTimeout, of which it is a part. 0: it closes it immediately."`
	Pprof            bool     `yaml:"pprof" doc:"Serve /debug/pprof/ where metrics are served. Enable it only if untrusted clients cannot reach that listener, or set metricsToken."`
}

// Default returns the settings of a server for one team on one machine. FitMemory derives
// the values that are 0 from the memory and the number of processors.
func Default() Config {
	return Config{
		Data:          "quarry-data",
		Listen:        "127.0.0.1:7070",
		MetricsListen: MetricsAuto,
		Roles:         []string{RoleIngest, RolePipeline, RoleQuery},
		Logging:       Logging{Level: "info", Format: "text"},
		Tracing:       Tracing{SampleRatio: 0.01},
		Log:           Log{Driver: "embedded", Kafka: Kafka{SessionTimeout: Duration(6 * time.Second)}},
		Storage:       Storage{MinFreeBytes: 256 << 20, ScrubBytesPerSecond: 4 << 20},
		Snapshots:     Snapshots{Keep: 2},
		Git: Git{
			AllowedProtocols: []string{"https", "http", "ssh", "file"},
			DeniedNetworks:   metadataNetworks(),
			FetchTimeout:     Duration(30 * time.Minute),
			MaxMirrorBytes:   50 << 30,
			CollectAfter:     Duration(24 * time.Hour),
		},
		Ingest: Ingest{MaxBodyBytes: 25 << 20, AppendTimeout: Duration(8 * time.Second), MaxBacklog: 1_000_000},
		Pipeline: Pipeline{
			MaxAhead: 10_000, MaxFileBytes: 2 << 20, MaxRefs: 5000, MergeInterval: Duration(30 * time.Second), MaxAttempts: 5,
			PurgeAfter:        Duration(time.Hour),
			HostPatience:      Duration(10 * time.Minute),
			ReconcileInterval: Duration(time.Hour), ReconcileGrace: Duration(30 * time.Second), ReconcileConcurrency: 2,
		},
		Scip: Scip{KeepUploads: 3, MaxUploadBytes: 1 << 30, MaxTotalBytes: 20 << 30},
		Query: Query{
			Timeout: Duration(20 * time.Second), MaxWaiting: 256, MaxWait: Duration(10 * time.Second), MaxLag: Duration(5 * time.Second), PositionWait: Duration(10 * time.Second), MaxHeavyWaiting: 64, MaxMatches: 1_000_000,
			MaxResultBytes: 64 << 20, MaxBodyBytes: 2 << 20,
		},
		Access: Access{Anonymous: "auto", DefaultVisibility: "public", SessionTTL: Duration(30 * 24 * time.Hour), InvitationTTL: Duration(7 * 24 * time.Hour)},
		Audit: Audit{
			Required: true, QueryText: true, Retention: Duration(180 * 24 * time.Hour), SealEvery: Duration(5 * time.Minute),
			QueueBytes: 32 << 20, MaxWait: Duration(5 * time.Second),
		},
		Discovery: Discovery{
			Interval: Duration(time.Hour), Concurrency: 4, MaxRepositories: 100_000, RequestTimeout: Duration(30 * time.Second),
		},
		Limits:  Limits{PerSecond: 50, Burst: 200, AnonymousPerSecond: 20, AnonymousBurst: 100, Streams: 32, Connections: 4096, ConnectionsPerAddress: 1024},
		Runtime: Runtime{GCPercent: 100, DrainTimeout: Duration(25 * time.Second), ShutdownDelay: Duration(5 * time.Second)},
	}
}

// These are the roles of a process.
const (
	RoleIngest   = "ingest"
	RolePipeline = "pipeline"
	RoleQuery    = "query"
)

// ShutdownDelay returns runtime.shutdownDelay, of which at most half of
// runtime.drainTimeout counts.
func (c *Config) ShutdownDelay() time.Duration {
	return min(c.Runtime.ShutdownDelay, c.Runtime.DrainTimeout/2).Std()
}

// Has reports whether the process has a role.
func (c *Config) Has(role string) bool {
	for _, r := range c.Roles {
		if r == role {
			return true
		}
	}
	return false
}
