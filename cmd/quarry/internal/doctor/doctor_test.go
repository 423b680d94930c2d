//go:build linux

package doctor

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/cmd/internal/operator"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/logdriver"
	"github.com/quarrysearch/quarry/cmd/quarry/internal/secrets"
	"github.com/quarrysearch/quarry/pipeline/backup"
	"github.com/quarrysearch/quarry/pipeline/eventlog/topics"
	"github.com/quarrysearch/quarry/query/client"
	"github.com/quarrysearch/quarry/query/rpc"
	"github.com/quarrysearch/quarry/query/search"
	"github.com/quarrysearch/quarry/schemas/disk"
	"github.com/quarrysearch/quarry/schemas/event"
)

var errProbe = errors.New("the probe fails")

// testTopics are those of a log with two partitions.
var testTopics = []topics.Report{{Topic: event.TopicEvents, Exists: true, Partitions: make([]topics.PartitionReport, 2)}}

// installation is the input that a test changes before the examination. Without changes,
// every check is ok.
type installation struct {
	*Examination
	t *testing.T
	// answers holds the responses of the server by path.
	answers map[string]any
}

func newInstallation(t *testing.T) *installation {
	t.Helper()
	c := config.Default()
	c.FitMemory(1<<30, 4)
	c.Data = filepath.Join(t.TempDir(), "data")
	for _, dir := range append(c.ChosenDirectories(), c.OwnDirectories()...) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	in := &installation{t: t, answers: map[string]any{
		"/healthz": map[string]any{}, "/readyz": map[string]any{}, "/api/version": map[string]any{"version": "v1"},
		"/api/deadletters": map[string]any{"open": 0, "letters": []any{}},
		"/api/repos":       []any{map[string]any{"repoId": 7, "repoName": "kettle"}},
		"/api/repos/7/status": map[string]any{"repoId": 7, "repoName": "kettle",
			"freshness": map[string]any{"staleSeconds": 0}},
		"/api/snapshots": map[string]any{"snapshots": []any{}, "creating": false},
	}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := in.answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body) // the client is still connected
	}))
	t.Cleanup(s.Close)
	in.Examination = &Examination{Config: &c, Now: func() time.Time { return now }, Probes: Probes{
		Space: func(string) (disk.Space, error) {
			return disk.Space{FreeBytes: 100 << 30, TotalBytes: 200 << 30, FreeFiles: 1e6, TotalFiles: 1e7}, nil
		},
		Memory:     func() (boot.Memory, error) { return boot.Memory{Total: 8 << 30, Available: 4 << 30}, nil },
		OpenFiles:  func(int) (uint64, error) { return 65536, nil },
		Holder:     func(string) (disk.Holder, error) { return disk.Holder{Held: true, Process: 1}, nil },
		Owner:      func(string) (bool, uint32, error) { return true, 0, nil },
		Git:        func(context.Context) (string, error) { return "git version 2.39.5", nil },
		Topics:     func(context.Context) ([]topics.Report, error) { return testTopics, nil },
		LastRecord: func(context.Context) (time.Time, error) { return now, nil },
		Version:    "v1",
		Visibility: func(*config.Config, string) string { return "x" },
	}}
	in.useServer(s.URL)
	return in
}

func (in *installation) useServer(url string) {
	var err error
	if in.Probes.Client, err = client.New(url, client.Options{Retries: client.NoRetries}); err != nil {
		in.t.Fatal(err)
	}
}

func (in *installation) setStopped() {
	in.Probes.Holder = func(string) (disk.Holder, error) { return disk.Holder{}, nil }
	in.useServer("http://127.0.0.1:1")
}

func (in *installation) useKafka(deviations ...topics.DeviationReport) {
	in.Config.Log.Driver = "kafka"
	in.Probes.Topics = func(context.Context) ([]topics.Report, error) {
		return []topics.Report{{Topic: "quarry.events", Exists: true, Deviations: deviations}}, nil
	}
}

func (in *installation) changeMode(path string, mode os.FileMode) {
	if err := os.Chmod(path, mode); err != nil {
		in.t.Fatal(err)
	}
}

// acceptConnections returns an address that accepts connections until the test ends.
func (in *installation) acceptConnections() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		in.t.Fatal(err)
	}
	in.t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// serveGit returns the address of a process with mirrors whose secret repeats a letter.
func (in *installation) serveGit(letter string) string {
	secret := secrets.Master(strings.Repeat(letter, rpc.MinSecretBytes)).DerivePeerSecret()
	server, err := rpc.NewServer(rpc.ServerOptions{Secret: secret, Git: &rpc.GitService{}})
	if err != nil {
		in.t.Fatal(err)
	}
	web := httptest.NewServer(server)
	in.t.Cleanup(func() { _ = server.Close(); web.Close() })
	return web.Listener.Addr().String()
}

// serveShard returns the address of a shard with some partitions, whose secret repeats a letter and
// whose settings have a digest.
func (in *installation) serveShard(letter, digest string, partitions ...int32) string {
	server, err := rpc.NewServer(rpc.ServerOptions{
		Secret: secrets.Master(strings.Repeat(letter, rpc.MinSecretBytes)).DerivePeerSecret(), Partitions: partitions,
		OpenSession: func(context.Context, []byte) (search.Shard, error) { return nil, errProbe },
		State:       func() (*rpc.State, error) { return &rpc.State{Settings: digest, Program: "v1"}, nil },
	})
	if err != nil {
		in.t.Fatal(err)
	}
	web := httptest.NewServer(server)
	in.t.Cleanup(func() { _ = server.Close(); web.Close() })
	return web.Listener.Addr().String()
}

// useShards makes the process a front, whose secret repeats the letter a.
func (in *installation) useShards(peers ...string) {
	in.Config.Shard.Peers, in.Config.Access.Secret = peers, config.NewSecret(strings.Repeat("a", rpc.MinSecretBytes))
}

// useGitPeers makes the process one without mirrors, whose secret repeats the letter a.
func (in *installation) useGitPeers(peers ...string) {
	in.Config.Roles, in.Config.Git.Peers = []string{"query"}, peers
	in.Config.Access.Secret = config.NewSecret(strings.Repeat("a", rpc.MinSecretBytes))
}

// setCertificate gives the server the certificate of package httptest, that long before it
// expires.
func (in *installation) setCertificate(left time.Duration) {
	source := httptest.NewTLSServer(http.NotFoundHandler())
	defer source.Close()
	pair := source.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		in.t.Fatal(err)
	}
	both := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...)
	name := filepath.Join(in.t.TempDir(), "both.pem")
	if err := os.WriteFile(name, both, 0o600); err != nil {
		in.t.Fatal(err)
	}
	in.Config.TLS = config.TLS{CertFile: name, KeyFile: name}
	in.Now = func() time.Time { return source.Certificate().NotAfter.Add(-left) }
}

// TestChecks triggers each check, and checks that it is ok without the change.
func TestChecks(t *testing.T) {
	rest := newInstallation(t)
	for _, f := range rest.runChecks() {
		if f.Status != OK || f.Remedy != "" {
			t.Errorf("nothing is wrong, and %+v", f)
		}
	}
	fired := map[string]bool{}
	for _, c := range []struct {
		check  string
		status Status
		want   string
		change func(in *installation)
	}{
		{"configuration", Warning, "QUARRY_LISTN", func(in *installation) { in.Warnings = []string{"QUARRY_LISTN is no setting"} }},
		{"secrets", Problem, "env:QUARRY_NO_SUCH", func(in *installation) {
			in.Config.Connections = []config.Connection{{Name: "a", Secrets: []config.Secret{config.NewSecret("env:QUARRY_NO_SUCH")}}}
		}},
		{"secrets", Problem, "want at least 32", func(in *installation) { in.Config.Access.Secret = config.NewSecret("short") }},
		{"addresses", Warning, "without signing in", func(in *installation) {
			in.Config.Listen, in.Config.PublicURL, in.Config.Access.Anonymous = "0.0.0.0:7070", "https://code.example", "on"
		}},
		{"addresses", Warning, "publicUrl is not set", func(in *installation) { in.Config.Listen = "0.0.0.0:7070" }},
		{"addresses", Warning, "unencrypted", func(in *installation) { in.Config.PublicURL = "http://code.example" }},
		{"addresses", Warning, "cannot see clients", func(in *installation) { in.Config.PublicURL = "https://code.example" }},
		{"addresses", Warning, "anyone who can reach the server can read /metrics: metricsListen is main", func(in *installation) { in.Config.MetricsListen = "main" }},
		{"addresses", Warning, "anyone who can reach 0.0.0.0:7071 can read /metrics and /debug/pprof/", func(in *installation) {
			in.Config.MetricsListen, in.Config.Runtime.Pprof = "0.0.0.0:7071", true
		}},
		{"secrets", Problem, "metricsToken (hidden): 5 bytes: want at least 16", func(in *installation) { in.Config.MetricsToken = config.NewSecret("short") }},
		{"addresses", Problem, "single sign-on", func(in *installation) {
			in.Config.Listen, in.Config.Access.OIDC = "0.0.0.0:7070", []config.OIDC{{Name: "a"}}
		}},
		{"certificate", Problem, "no such file", func(in *installation) { in.Config.TLS.CertFile = in.Config.Data + "/none.pem" }},
		{"certificate", Problem, "no such file", func(in *installation) { in.Config.PeerTLS.CertFile = in.Config.Data + "/none.pem" }},
		{"certificate", Warning, "expires at", func(in *installation) { in.setCertificate(13 * 24 * time.Hour) }},
		{"certificate", Problem, "expired at", func(in *installation) { in.setCertificate(0) }},
		{"data directory", Warning, "does not exist", func(in *installation) { in.Config.Data += "/none" }},
		{"data directory", Problem, "is not a directory", func(in *installation) {
			in.Config.Storage.Mirrors = filepath.Join(in.Config.Data, "file")
			if err := os.WriteFile(in.Config.Storage.Mirrors, nil, 0o600); err != nil {
				in.t.Fatal(err)
			}
		}},
		{"segment store", Problem, "check storage.s3.endpoint and the network", func(in *installation) {
			in.Config.Storage.Segments = "s3://code-search/segments"
			in.Config.Storage.S3 = config.S3{Endpoint: "http://127.0.0.1:1", Region: "eu-test-1", AccessKeyID: "id", SecretAccessKey: config.NewSecret("secret")}
		}},
		{"data directory", Problem, "is not writable", func(in *installation) { in.Config.Storage.Log = "/proc/self" }},
		{"user", Warning, "belongs to user 7", func(in *installation) {
			in.Probes.Owner = func(string) (bool, uint32, error) { return false, 7, nil }
		}},
		{"permissions", Warning, "mode 0755", func(in *installation) { in.changeMode(in.Config.Data, 0o755) }},
		{"permissions", Warning, "segments (mode 0750)", func(in *installation) { in.changeMode(in.Config.SegmentsDir(), 0o750) }},
		{"permissions", Problem, "can replace", func(in *installation) { in.changeMode(in.Config.Data, 0o1777) }},
		{"permissions", Warning, operator.FileName, func(in *installation) {
			if err := os.WriteFile(filepath.Join(in.Config.Data, operator.FileName), nil, 0o644); err != nil {
				in.t.Fatal(err)
			}
		}},
		{"lock", Warning, "the probe fails", func(in *installation) {
			in.Probes.Holder = func(string) (disk.Holder, error) { return disk.Holder{}, errProbe }
		}},
		{"disk", Problem, "the server is read-only", func(in *installation) {
			in.Probes.Space = func(string) (disk.Space, error) { return disk.Space{FreeBytes: 200 << 20, TotalBytes: 1 << 40}, nil }
		}},
		{"disk", Problem, "512 MiB left", func(in *installation) {
			in.Probes.Space = func(string) (disk.Space, error) { return disk.Space{FreeBytes: 512 << 20, TotalBytes: 1 << 40}, nil }
		}},
		{"disk", Warning, "3.0 GiB left", func(in *installation) {
			in.Probes.Space = func(string) (disk.Space, error) { return disk.Space{FreeBytes: 3 << 30, TotalBytes: 1 << 40}, nil }
		}},
		{"disk", Problem, "room for 10 more files", func(in *installation) {
			in.Probes.Space = func(string) (disk.Space, error) {
				return disk.Space{FreeBytes: 1 << 40, TotalBytes: 1 << 40, FreeFiles: 10, TotalFiles: 1e6}, nil
			}
		}},
		{"memory", Problem, "control group allows 512 MiB", func(in *installation) {
			in.Probes.Memory = func() (boot.Memory, error) {
				return boot.Memory{Total: 8 << 30, Available: 8 << 30, Limit: 512 << 20}, nil
			}
		}},
		{"memory", Warning, "page cache", func(in *installation) {
			in.Probes.Memory = func() (boot.Memory, error) { return boot.Memory{Total: in.Config.PlannedBytes() + 1}, nil }
		}},
		{"memory", Warning, "of memory are free", func(in *installation) {
			in.setStopped()
			in.Probes.Memory = func() (boot.Memory, error) { return boot.Memory{Total: 8 << 30, Available: 100 << 20}, nil }
		}},
		{"open files", Problem, "256 files", func(in *installation) { in.Probes.OpenFiles = func(int) (uint64, error) { return 256, nil } }},
		{"open files", Warning, "4096 files", func(in *installation) { in.Probes.OpenFiles = func(int) (uint64, error) { return 4096, nil } }},
		{"git", Problem, "does not start", func(in *installation) { in.Probes.Git = func(context.Context) (string, error) { return "", errProbe } }},
		{"git", Problem, "2.20 is too old", func(in *installation) {
			in.Probes.Git = func(context.Context) (string, error) { return "git version 2.20.1", nil }
		}},
		{"backup", Warning, "generation 3 in /mnt/backups, is 8 days old", func(in *installation) {
			r := backup.Result{Generation: 3, Manifest: backup.Manifest{CreatedAt: in.Now().Add(-8*24*time.Hour - time.Hour)}}
			if err := backup.NoteLast(in.Config.Data, "/mnt/backups", &r); err != nil {
				in.t.Fatal(err)
			}
		}},
		{"log", Problem, "retention", func(in *installation) {
			in.useKafka(topics.DeviationReport{What: "retention", Why: "loses events", Mend: "set it", Refused: true})
		}},
		{"log", Warning, "one replica", func(in *installation) { in.useKafka(topics.DeviationReport{What: "one replica"}) }},
		{"log", Problem, "brokers cannot be used", func(in *installation) {
			in.useKafka()
			in.Probes.Topics = func(context.Context) ([]topics.Report, error) { return nil, errProbe }
		}},
		{"log", Problem, "cannot be read", func(in *installation) {
			in.setStopped()
			in.Probes.Topics = func(context.Context) ([]topics.Report, error) { return nil, errProbe }
		}},
		{"clock", Problem, "the time is 1970", func(in *installation) { in.Now = func() time.Time { return time.Unix(0, 0) } }},
		{"clock", Problem, "1h0m0s in the future", func(in *installation) {
			in.useKafka()
			in.Probes.LastRecord = func(context.Context) (time.Time, error) { return in.Now().Add(time.Hour), nil }
		}},
		{"clock", Warning, "the clock of the server differs", func(in *installation) {
			later := in.Now().Add(time.Minute)
			in.Now = func() time.Time { return later }
		}},
		{"clock", Problem, "in the future", func(in *installation) {
			path := filepath.Join(in.Config.LogDir(), "000001.log")
			future := in.Now().Add(time.Hour)
			if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, future, future)); err != nil {
				in.t.Fatal(err)
			}
		}},
		{"git peers", Warning, "git.peers is empty", func(in *installation) { in.Config.Roles = []string{"query"} }},
		{"git peers", Problem, "no process with mirrors is reached", func(in *installation) { in.useGitPeers("127.0.0.1:1") }},
		{"git peers", Problem, "no process with mirrors is reached", func(in *installation) { in.useGitPeers(in.acceptConnections()) }},
		{"git peers", Problem, "the session is refused", func(in *installation) { in.useGitPeers(in.serveGit("b")) }},
		{"git peers", Problem, "peerTls: ", func(in *installation) {
			in.useGitPeers(in.serveGit("a"))
			in.Config.PeerTLS.CAFile = in.Config.Data + "/none.pem"
		}},
		{"git peers", Warning, "1 of 2 processes with mirrors are reached", func(in *installation) { in.useGitPeers(in.serveGit("a"), "127.0.0.1:1") }},
		{"git peers", OK, "1 processes with mirrors are reached", func(in *installation) { in.useGitPeers(in.serveGit("a")) }},
		{"shards", Problem, "not a share", func(in *installation) { in.Config.Shard.Peers = []string{"2/2@127.0.0.1:1"} }},
		{"shards", Problem, "no replica of the share 1/2 answers", func(in *installation) {
			in.useShards(in.serveShard("a", "x", 0), "127.0.0.1:1")
		}},
		{"shards", Problem, "no replica of the share 0/1 answers", func(in *installation) { in.useShards(in.acceptConnections()) }},
		{"shards", Problem, "the peer has another secret", func(in *installation) { in.useShards(in.serveShard("b", "x", 0, 1)) }},
		{"shards", Problem, "this front wants", func(in *installation) { in.useShards(in.serveShard("a", "x", 0)) }},
		{"shards", Problem, "partition 0 has 2 owners", func(in *installation) { in.useShards("0/2@127.0.0.1:1", "0-1@127.0.0.1:2") }},
		{"shards", Problem, "partition 1 has no owner", func(in *installation) { in.useShards("0@127.0.0.1:1") }},
		{"shards", Problem, "no shard that answers has the settings of this front", func(in *installation) { in.useShards(in.serveShard("a", "y", 0, 1)) }},
		{"shards", OK, "2 replicas of the share 0/2 answer", func(in *installation) { // 0/2 and 0 are one share
			in.useShards("0/2@"+in.serveShard("a", "x", 0), "0@"+in.serveShard("a", "x", 0), "1@"+in.serveShard("a", "x", 1))
		}},
		{"shards", Problem, "decide differently", func(in *installation) { in.useShards(in.serveShard("a", "x", 0), in.serveShard("a", "y", 1)) }},
		{"shards", Problem, "access.secret", func(in *installation) {
			in.useShards("127.0.0.1:1")
			in.Config.Access.Secret = config.NewSecret("env:QUARRY_NO_SUCH")
		}},
		{"shards", Warning, "the number of partitions of the log is unknown: the probe fails", func(in *installation) {
			in.useShards("127.0.0.1:1")
			in.Probes.Topics = func(context.Context) ([]topics.Report, error) { return nil, errProbe }
		}},
		{"shards", Warning, "shards run version v1, and this program is version v2", func(in *installation) {
			in.useShards(in.serveShard("a", "x", 0, 1))
			in.Probes.Version = "v2"
		}},
		{"shards", Warning, "1 of 2 replicas of the share 0/1 answer", func(in *installation) {
			in.useShards("0/1@"+in.serveShard("a", "x", 0, 1), "0/1@127.0.0.1:1")
		}},
		{"shards", Warning, "the share 0/1 has one replica", func(in *installation) { in.useShards(in.serveShard("a", "x", 0, 1)) }},
		{"shards", OK, "2 replicas of the share 0/1 answer", func(in *installation) {
			in.useShards("0/1@"+in.serveShard("a", "x", 0, 1), "0/1@"+in.serveShard("a", "x", 0, 1))
		}},
		{"server", Warning, "no server is running", func(in *installation) { in.setStopped() }},
		{"server", Problem, "no server answers", func(in *installation) { in.useServer("http://127.0.0.1:1") }},
		{"server", Problem, "not ready", func(in *installation) { delete(in.answers, "/readyz") }},
		{"server", Warning, "version v0", func(in *installation) { in.answers["/api/version"] = map[string]any{"version": "v0"} }},
		{"owner", Warning, "no owner yet", func(in *installation) {
			if err := os.WriteFile(filepath.Join(in.Config.Data, operator.SetupFileName), []byte("http://x/setup?token=qo_1"), 0o600); err != nil {
				in.t.Fatal(err)
			}
		}},
		{"dead letters", Warning, "3 events were given up", func(in *installation) { in.answers["/api/deadletters"] = map[string]any{"open": 3} }},
		{"repositories", Warning, "1 of 1 repositories have waited", func(in *installation) {
			in.answers["/api/repos/7/status"] = map[string]any{"freshness": map[string]any{"staleSeconds": 3600}}
		}},
		{"repositories", Warning, "last attempt to index 1 of 1", func(in *installation) {
			in.answers["/api/repos/7/status"] = map[string]any{"lastError": map[string]any{"message": "no such host"}}
		}},
		{"snapshots", Warning, "there is no snapshot, although snapshots.interval is 1h0m0s", func(in *installation) {
			in.Config.Snapshots.Interval = config.Duration(time.Hour)
		}},
		{"snapshots", Warning, "the newest snapshot is 4h0m0s old, and snapshots.interval is 1h0m0s", func(in *installation) {
			in.Config.Snapshots.Interval = config.Duration(time.Hour)
			in.answers["/api/snapshots"] = map[string]any{"snapshots": []any{map[string]any{"name": "v1-a", "createdAt": in.Now().Add(-4 * time.Hour)}}}
		}},
		{"snapshots", Warning, "the snapshot v1-a cannot be used: it is damaged", func(in *installation) {
			in.answers["/api/snapshots"] = map[string]any{"snapshots": []any{map[string]any{"name": "v1-a", "createdAt": in.Now().Add(-4 * time.Hour), "problem": "it is damaged"}}}
		}},
		{"snapshots", Warning, "could not be created: disk full", func(in *installation) {
			in.answers["/api/snapshots"] = map[string]any{"snapshots": []any{}, "error": "disk full"}
		}},
	} {
		fired[c.check] = true
		in := newInstallation(t)
		c.change(in)
		found := false
		for _, f := range in.runChecks() {
			if f.Check == c.check && f.Status == c.status && strings.Contains(f.Message, c.want) {
				found = true
			}
			if strings.Contains(f.Message+f.Remedy, "qo_") {
				t.Errorf("%s: a secret is shown: %+v", c.check, f)
			}
		}
		if !found {
			t.Errorf("%s: no %s that says %q: %+v", c.check, c.status, c.want, in.runChecks())
		}
	}
	for _, c := range checks {
		if !fired[c.name] {
			t.Errorf("nothing makes the check %q fire", c.name)
		}
	}
}

func (in *installation) runChecks() (all []Finding) {
	if err := in.Run(in.t.Context(), func(f Finding) error { all = append(all, f); return nil }); err != nil {
		in.t.Error(err)
	}
	return all
}

// TestShardsAreNamedInOneOrder checks that two examinations of the same shards say the same, whichever
// shard answers first.
func TestShardsAreNamedInOneOrder(t *testing.T) {
	in := newInstallation(t)
	in.Probes.Version = "v2"
	in.useShards(in.serveShard("a", "x", 0), in.serveShard("a", "y", 1))
	for i := range 3 {
		in.Config.Shard.Peers = append(in.Config.Shard.Peers, in.serveShard("a", []string{"x", "y"}[i%2], 0))
	}
	for i, address := range in.Config.Shard.Peers {
		in.Config.Shard.Peers[i] = fmt.Sprintf("%d@%s", i%2*(5-i)/4, address)
	}
	first := in.runChecks()
	for range 10 {
		if again := in.runChecks(); !slices.Equal(again, first) {
			t.Fatalf("%+v, and then %+v", first, again)
		}
	}
}

// TestProbes checks that the probes of this machine work.
func TestProbes(t *testing.T) {
	c := config.Default()
	p := NewProbes(logdriver.Options{Config: &c}, "", nil, nil)
	if s, err := p.Space(t.TempDir()); err != nil || s.TotalBytes <= 0 || s.FreeBytes > s.TotalBytes {
		t.Errorf("%+v, %v", s, err)
	}
	if m, err := p.Memory(); err != nil || m.Total <= 0 || m.Available > m.Total {
		t.Errorf("%+v, %v", m, err)
	}
	for _, process := range []int{0, os.Getpid()} {
		if n, err := p.OpenFiles(process); err != nil || n == 0 {
			t.Errorf("process %d: %d, %v", process, n, err)
		}
	}
	dir := t.TempDir()
	if h, err := p.Holder(dir); err != nil || h.Held {
		t.Errorf("%+v, %v", h, err)
	}
	lock, err := disk.LockDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	if h, err := p.Holder(dir); err != nil || !h.Held || h.Process != os.Getpid() {
		t.Errorf("%+v, %v", h, err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if h, err := p.Holder(dir); err != nil || h.Held {
		t.Errorf("after the lock: %+v, %v", h, err)
	}
}

// TestMetricsThatFewCanRead checks that doctor does not warn of metrics that need a token
// or that only this machine can reach.
func TestMetricsThatFewCanRead(t *testing.T) {
	for listen, token := range map[string]string{"auto": "", "none": "", "127.0.0.1:9000": "", "localhost:9000": "", "main": "of-prometheus-0123456789", "0.0.0.0:7071": "of-prometheus-0123456789"} {
		in := newInstallation(t)
		in.Config.MetricsListen, in.Config.MetricsToken = listen, config.NewSecret(token)
		for _, f := range in.runChecks() {
			if f.Check == "addresses" && f.Status != OK {
				t.Errorf("metricsListen %s: %+v", listen, f)
			}
		}
	}
}
