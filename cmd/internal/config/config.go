package config

import (
	"time"
)

// Config contains every setting of quarry serve. The zero value is not useful: see
// Default.
type Config struct {
	Data          string       `yaml:"data" doc:"Directory of everything that quarry keeps. One process holds it at a time."`
	Listen        string       `yaml:"listen" doc:"Address of the API, the webhooks and, unless metricsListen is set, the metrics."`
	MetricsListen string       `yaml:"metricsListen" doc:"Address of GET /metrics alone. Empty: on the same listener as the API."`
	PublicURL     string       `yaml:"publicUrl" doc:"URL under which people reach the server, for links in answers. Empty: http:// and the listen address."`
	Roles         []string     `yaml:"roles" enum:"ingest,pipeline,query" doc:"What this process does. Without Kafka, one process has all roles."`
	Logging       Logging      `yaml:"logging" doc:"What the process says on its standard error."`
	Log           Log          `yaml:"log" doc:"The event log, the truth of the system."`
	Storage       Storage      `yaml:"storage" doc:"Directories, where they are not below data, and the search for damaged files."`
	Git           Git          `yaml:"git" doc:"What git may fetch, and its limits."`
	Ingest        Ingest       `yaml:"ingest" doc:"The webhook receiver."`
	Pipeline      Pipeline     `yaml:"pipeline" doc:"The workers that fetch, analyse and build segments."`
	Query         Query        `yaml:"query" doc:"Bounds of a search."`
	Scip          Scip         `yaml:"scip" doc:"Precise indexes, which continuous integration uploads."`
	Access        Access       `yaml:"access" doc:"Who may send requests, and from where."`
	Limits        Limits       `yaml:"limits" doc:"Rate and concurrency limits of a caller. The operator on this machine has none."`
	Audit         Audit        `yaml:"audit" doc:"The record of who did what, and how long it is kept."`
	Cache         Cache        `yaml:"cache" doc:"Memory that serves to read less from disk."`
	Runtime       Runtime      `yaml:"runtime" doc:"The Go runtime and the way the process stops."`
	Discovery     Discovery    `yaml:"discovery" doc:"How the repositories of connections are found through the APIs of their code hosts."`
	Connections   []Connection `yaml:"connections" reload:"true" doc:"Code hosts that send webhooks, or whose repositories are found through their API. Set in the file only."`
}

// Logging defines what the process writes to its standard error.
type Logging struct {
	Level  string `yaml:"level" reload:"true" enum:"debug,info,warn,error" doc:"Lowest level that is written."`
	Format string `yaml:"format" enum:"text,json" doc:"Form of a line."`
}

// Log chooses the driver of the event log.
type Log struct {
	Driver     string `yaml:"driver" enum:"embedded,kafka" doc:"embedded keeps the log in the data directory; kafka uses the brokers below."`
	Partitions int    `yaml:"partitions" doc:"Partitions of a topic that is created. 0: one in the embedded log, four on brokers. A log that exists keeps its number."`
	Kafka      Kafka  `yaml:"kafka" doc:"Used with log.driver kafka."`
}

// Kafka defines how to reach the brokers.
type Kafka struct {
	Brokers           []string  `yaml:"brokers" doc:"host:port of one or more brokers."`
	ReplicationFactor int       `yaml:"replicationFactor" doc:"Copies of a topic that is created. 0: as the brokers have it by default."`
	AllowDataLoss     bool      `yaml:"allowDataLoss" doc:"Start even if the brokers are set to delete events: retention or compaction of quarry.events or quarry.accounts."`
	SessionTimeout    Duration  `yaml:"sessionTimeout" doc:"How long a worker may be silent before others take over its repositories. Brokers refuse less than their group.min.session.timeout.ms, 6s unless it is set."`
	TLS               KafkaTLS  `yaml:"tls" doc:"Encryption of the connection."`
	SASL              KafkaSASL `yaml:"sasl" doc:"Who we are to the brokers."`
}

// KafkaTLS encrypts the connection to the brokers.
type KafkaTLS struct {
	Enabled    bool   `yaml:"enabled" doc:"Speak TLS."`
	CAFile     string `yaml:"caFile" doc:"PEM file of the authorities to trust. Empty: those of the system."`
	CertFile   string `yaml:"certFile" doc:"PEM file of the client's certificate."`
	KeyFile    string `yaml:"keyFile" doc:"PEM file of the client's key."`
	ServerName string `yaml:"serverName" doc:"Name to expect in the broker's certificate. Empty: the host of its address."`
}

// KafkaSASL authenticates to the brokers.
type KafkaSASL struct {
	Mechanism string `yaml:"mechanism" enum:",plain,scram-sha-256,scram-sha-512" doc:"Empty: none."`
	Username  string `yaml:"username" doc:"User of the broker."`
	Password  Secret `yaml:"password" doc:"Password of the user."`
}

// Storage moves directories out of Data. A directory that is not set is below Data.
type Storage struct {
	Log         string `yaml:"log" doc:"Embedded log. Empty: log below data."`
	Segments    string `yaml:"segments" doc:"Segment store. Empty: segments below data."`
	Projections string `yaml:"projections" doc:"Projections. Empty: projections below data."`
	Accounts    string `yaml:"accounts" doc:"Rows of accounts and audit log. Empty: accounts below data."`
	Mirrors     string `yaml:"mirrors" doc:"Git mirrors, a cache. Empty: mirrors below data."`
	// MinFreeBytes is checked against the file system of each directory.
	MinFreeBytes Bytes `yaml:"minFreeBytes" doc:"Free space of a disk below which Quarry only reads: webhooks and changes get 503, nothing is indexed, searches go on."`
	// ScrubBytesPerSecond bounds the search for damaged files.
	ScrubBytesPerSecond Bytes `yaml:"scrubBytesPerSecond" doc:"How fast log, segments and rows are read, once a day, to find damaged files. 0: not at all."`
}

// Git contains the policy on clone URLs and the bounds of git.
type Git struct {
	AllowedProtocols []string `yaml:"allowedProtocols" enum:"https,http,ssh,git,file" doc:"Protocols of clone URLs. A path on this machine counts as file and needs allowedRoots as well."`
	AllowedRoots     []string `yaml:"allowedRoots" doc:"Directories below which a repository may be read by path. Empty: none."`
	AllowedNetworks  []string `yaml:"allowedNetworks" doc:"Networks outside the public Internet, as CIDR, that git and requests to code hosts may reach. Empty: public addresses, and private ones of the hosts that connections name by url."`
	DeniedNetworks   []string `yaml:"deniedNetworks" doc:"Networks, as CIDR, that neither may reach, even if they are public or in allowedNetworks. Unless set: the addresses at which clouds give out the credentials of a machine."`
	FetchTimeout     Duration `yaml:"fetchTimeout" doc:"Longest time of one fetch."`
	MaxMirrorBytes   Bytes    `yaml:"maxMirrorBytes" doc:"Largest mirror on disk."`
	CollectAfter     Duration `yaml:"collectAfter" doc:"Time in which commits that no branch leads to any more are gone from the mirrors of fetched repositories. 0: they stay."`
	ServeUnreachable bool     `yaml:"serveUnreachable" doc:"Serve commits that no branch or tag leads to, by their IDs, to everyone who may read the repository, until they are removed from the mirrors. Off: they are not found."`
}

// Ingest bounds the receiver.
type Ingest struct {
	MaxBodyBytes  Bytes    `yaml:"maxBodyBytes" doc:"Largest body of a webhook."`
	AppendTimeout Duration `yaml:"appendTimeout" doc:"How long a webhook waits for the log before it gets 503."`
	MaxBacklog    int      `yaml:"maxBacklog" doc:"Records that may wait for the workers; above it, webhooks get 503."`
}

// Pipeline bounds the workers.
type Pipeline struct {
	Concurrency   int      `yaml:"concurrency" doc:"Repositories whose events are handled at once. 0: twice the number of CPUs, since fetches wait for the network, or fewer for want of memory."`
	MaxAhead      int      `yaml:"maxAhead" doc:"Records that the projections may be behind the log; beyond that the workers begin nothing until it is half."`
	Builders      int      `yaml:"builders" doc:"Large segments built at once, by imports and merges together; each takes 1.6 times pipeline.segmentBytes. 0: one per CPU, or fewer for want of memory."`
	SegmentBytes  Bytes    `yaml:"segmentBytes" doc:"Text of the largest segment. 0: 128 MiB, or less for want of memory: a query visits every segment."`
	MaxFileBytes  Bytes    `yaml:"maxFileBytes" doc:"Largest file that is indexed; larger ones are listed as skipped."`
	Ctags         string   `yaml:"ctags" doc:"Absolute path of universal-ctags, built with sandbox and JSON, which finds symbols in languages that Quarry has no reader for. Files that are indexed already stay as they are until they change: give all workers of one log the same. Empty: none."`
	MaxFiles      int      `yaml:"maxFiles" doc:"Files of the largest repository that is indexed, about 600 bytes of memory each while it is imported. 0: what a third of runtime.memoryBytes holds, at most 4,000,000."`
	MaxRefs       int      `yaml:"maxRefs" doc:"Branches and tags of one repository that are indexed, at most 200,000. Of more that are selected, those with the newest commits are; the others are listed in the status of the repository. The default is 5,000."`
	MergeInterval Duration `yaml:"mergeInterval" doc:"How often segments are looked at for dead text; small ones are merged as they come. 0: never merge."`
	PurgeAfter    Duration `yaml:"purgeAfter" doc:"Time in which the text of a removed repository or branch is gone from disk. 0: when a merge happens to drop it."`
	MaxAttempts   int      `yaml:"maxAttempts" doc:"Tries of an event before it becomes a dead letter."`
	HostPatience  Duration `yaml:"hostPatience" doc:"How long an event waits for a code host that does not answer before it becomes a dead letter."`
	// The following settings control reconciliation, which finds pushes without a
	// webhook.
	ReconcileInterval    Duration `yaml:"reconcileInterval" doc:"How often each repository is checked for pushes without a webhook. The checks are spread over the interval. 0: never."`
	ReconcileGrace       Duration `yaml:"reconcileGrace" doc:"How long a change without a webhook must persist before it is indexed."`
	ReconcileConcurrency int      `yaml:"reconcileConcurrency" doc:"Repositories that are checked at once."`
}

// Scip bounds precise indexes.
type Scip struct {
	KeepUploads    int   `yaml:"keepUploads" doc:"Uploads of each path and indexer that a repository keeps, the newest; 1 to 64."`
	MaxUploadBytes Bytes `yaml:"maxUploadBytes" doc:"Largest upload."`
	MaxTotalBytes  Bytes `yaml:"maxTotalBytes" doc:"Space of the precise indexes of all repositories; further uploads are refused."`
}

// Query bounds a search.
type Query struct {
	Timeout          Duration `yaml:"timeout" doc:"Longest time of one search; it then returns what it has found."`
	MaxConcurrent    int      `yaml:"maxConcurrent" doc:"Searches that begin at once; others wait. 0: four per CPU."`
	MaxWaiting       int      `yaml:"maxWaiting" doc:"Searches that may wait to start; further ones get 503."`
	MaxWait          Duration `yaml:"maxWait" doc:"Longest time that a search waits to begin."`
	MaxHeavy         int      `yaml:"maxHeavy" doc:"Long searches that run at once, on the CPUs that other searches leave. 0: 32 per CPU."`
	MaxHeavyWaiting  int      `yaml:"maxHeavyWaiting" doc:"Long searches that may wait to continue; further ones get 503."`
	MaxMatches       int      `yaml:"maxMatches" doc:"Most matches of one answer, whatever the request."`
	MaxScanBytes     Bytes    `yaml:"maxScanBytes" doc:"Most text that one search reads. 0: bounded by time only."`
	MaxMemoryBytes   Bytes    `yaml:"maxMemoryBytes" doc:"Most memory that one search holds for matches and its answer. 0: three quarters of query.totalMemoryBytes."`
	TotalMemoryBytes Bytes    `yaml:"totalMemoryBytes" doc:"The same for all searches together, but for the first MiB of each. 0: an eighth of runtime.memoryBytes."`
	MaxResultBytes   Bytes    `yaml:"maxResultBytes" doc:"Largest answer, roughly as JSON; further matches are counted and not shown."`
	MaxBodyBytes     Bytes    `yaml:"maxBodyBytes" doc:"Largest body of a request."`
	// Contexts are the values of the filter context:.
	Contexts []Context `yaml:"contexts" doc:"Search contexts: sets of repositories for the filter context:. Set in the file only."`
}

// Context is a set of repositories that queries select with context:NAME.
type Context struct {
	Name    string   `yaml:"name" doc:"Value of context: that selects the set: letters, digits, dash and underscore."`
	Include []string `yaml:"include" doc:"Globs on full repository names: * is any run without a slash, ** any run. A repository is in the set if one matches."`
	Exclude []string `yaml:"exclude" doc:"Globs of repositories that are not, whatever include says."`
}

// Access defines which callers may send requests, and from where.
type Access struct {
	Anonymous         string   `yaml:"anonymous" enum:"auto,on,off" doc:"Whether requests without a credential may read public repositories. auto: on where listen is loopback and publicUrl, if set, is too."`
	DefaultVisibility string   `yaml:"defaultVisibility" enum:"public,internal,private" doc:"Who may see a repository of which neither an owner nor the code host has said anything."`
	Secret            Secret   `yaml:"secret" doc:"Keys the hashes of API keys, tokens, sessions and invitations; at least 32 bytes, the same in every process of the role query, another one ends all of them. Empty: secret.key in the data directory, made at the first start."`
	SessionTTL        Duration `yaml:"sessionTtl" doc:"How long a sign-in lasts."`
	InvitationTTL     Duration `yaml:"invitationTtl" doc:"How long an invitation can be accepted unless it says otherwise; at most 2160h."`
	TrustedProxies    []string `yaml:"trustedProxies" doc:"Addresses or networks, as CIDR, of proxies whose X-Forwarded-For or Forwarded says who the client is. Empty: the peer is the client."`
	AllowedOrigins    []string `yaml:"allowedOrigins" doc:"Origins whose pages may use the API (CORS), such as https://tools.example; * for any, without cookies. Empty: none but its own."`
	Hosts             []string `yaml:"hosts" doc:"Further names by which the API is asked, where names are checked: if listen is loopback or publicUrl is set. Addresses, names without a dot and publicUrl's always will do; * for any."`
	AdmitAll          bool     `yaml:"admitAll" doc:"Whoever comes by single sign-on with a verified e-mail address is a member at once. Otherwise those without an invitation wait for an owner's approval."`
	LinkByEmail       bool     `yaml:"linkByEmail" doc:"Who comes by single sign-on with the verified e-mail address of a user signs in as them. Trusts the providers with every account."`
	OIDC              []OIDC   `yaml:"oidc" doc:"OpenID Connect providers that people may sign in with. Set in the file only."`
}

// OIDC is an OpenID Connect provider. It redirects users to
// {publicUrl}/auth/oidc/{name}/callback.
type OIDC struct {
	Name           string   `yaml:"name" doc:"Part of addresses: letters, digits, dash and underscore. The provider sends people back to {publicUrl}/auth/oidc/{name}/callback."`
	Title          string   `yaml:"title" doc:"What the button says the provider is called. Empty: the name."`
	Issuer         string   `yaml:"issuer" doc:"URL of the issuer, as the provider's metadata has it: https, or http on loopback."`
	ClientID       string   `yaml:"clientId" doc:"Client ID that is registered with the provider."`
	ClientSecret   Secret   `yaml:"clientSecret" doc:"Client secret that is registered with the provider. Empty: a public client."`
	Scopes         []string `yaml:"scopes" doc:"Scopes to request in addition to openid. Empty: profile and email."`
	AllowedDomains []string `yaml:"allowedDomains" doc:"Domains of verified e-mail addresses that may sign in. Empty: any."`
	HostClaim      string   `yaml:"hostClaim" doc:"Claim of the ID token with the user's ID at a code host, such as github_id, for permissions.provider of connections. Empty: the subject, where the host itself is the provider."`
	TrustEmail     bool     `yaml:"trustEmail" doc:"Take e-mail addresses for verified where the provider says nothing of it. For directories whose addresses only administrators set."`
}

// Limits bound the requests of one caller.
type Limits struct {
	PerSecond          int `yaml:"perSecond" reload:"true" doc:"Requests per second of an API key, a token, or a user who is signed in. 0: no limit."`
	Burst              int `yaml:"burst" reload:"true" doc:"How many of them may come at once."`
	AnonymousPerSecond int `yaml:"anonymousPerSecond" reload:"true" doc:"Requests per second of an address, without a credential or with an invalid one. 0: no limit."`
	AnonymousBurst     int `yaml:"anonymousBurst" reload:"true" doc:"How many of them may come at once."`
	Streams            int `yaml:"streams" reload:"true" doc:"Streams of one caller at once. 0: no limit but that of all."`
}

// Cache sizes the caches.
type Cache struct {
	FramesBytes Bytes `yaml:"framesBytes" doc:"Decompressed text of segments, outside the Go heap. 0: a share of runtime.memoryBytes."`
	BlocksBytes Bytes `yaml:"blocksBytes" doc:"Pebble's blocks: postings and compressed text. 0: a share of runtime.memoryBytes."`
	LogBytes    Bytes `yaml:"logBytes" doc:"Pebble's blocks of the embedded log. 0: a share of runtime.memoryBytes."`
}

// Runtime contains settings of the process as a whole.
type Runtime struct {
	MemoryBytes      Bytes    `yaml:"memoryBytes" doc:"Memory that the server and its git commands take together. 0: 85 % of the limit of the control group; where there is none, of the machine and at most 1 GiB and 256 MiB per CPU. GOMEMLIMIT lowers it."`
	MemoryLimitBytes Bytes    `yaml:"memoryLimitBytes" doc:"Soft limit of the Go heap. 0: what the caches leave of runtime.memoryBytes."`
	GCPercent        int      `yaml:"gcPercent" doc:"Growth of the heap between collections, as GOGC, which wins where it is set; at most 60 while large segments are built. 0: Go's default."`
	DrainTimeout     Duration `yaml:"drainTimeout" doc:"Longest time from SIGTERM to the end."`
	Pprof            bool     `yaml:"pprof" doc:"Serve /debug/pprof/ on the listener of the metrics. For a listener that strangers cannot reach."`
}

// Default returns the settings of a server for one team on one machine. FitMemory derives
// the values that are 0 from the memory and the number of processors.
func Default() Config {
	return Config{
		Data:    "quarry-data",
		Listen:  "127.0.0.1:7070",
		Roles:   []string{RoleIngest, RolePipeline, RoleQuery},
		Logging: Logging{Level: "info", Format: "text"},
		Log:     Log{Driver: "embedded", Kafka: Kafka{SessionTimeout: Duration(6 * time.Second)}},
		Storage: Storage{MinFreeBytes: 256 << 20, ScrubBytesPerSecond: 4 << 20},
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
			Timeout: Duration(20 * time.Second), MaxWaiting: 256, MaxWait: Duration(10 * time.Second), MaxHeavyWaiting: 64, MaxMatches: 1_000_000,
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
		Limits:  Limits{PerSecond: 50, Burst: 200, AnonymousPerSecond: 20, AnonymousBurst: 100, Streams: 32},
		Runtime: Runtime{GCPercent: 100, DrainTimeout: Duration(25 * time.Second)},
	}
}

// These are the roles of a process.
const (
	RoleIngest   = "ingest"
	RolePipeline = "pipeline"
	RoleQuery    = "query"
)

// Has reports whether the process has a role.
func (c *Config) Has(role string) bool {
	for _, r := range c.Roles {
		if r == role {
			return true
		}
	}
	return false
}
