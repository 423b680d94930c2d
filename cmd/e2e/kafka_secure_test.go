package e2e

import (
	"encoding/json"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quarrysearch/quarry/pipeline/eventlog/kafkalog/kafkatest"
)

// maxRefused bounds the connections that a server opens before it gives up a start that
// the brokers refuse.
const maxRefused = 5

// TestSecureKafka configures TLS and SASL in quarry.yaml. With correct settings the
// server indexes and finds. With wrong settings it exits with one line that names the
// setting to check, and does not flood the broker with connections.
func TestSecureKafka(t *testing.T) {
	t.Parallel()
	broker := kafkatest.StartSecure(t, "quarry", "right-horse")
	dir := t.TempDir()
	secret := filepath.Join(dir, "password")
	writeTextFile(t, secret, "right-horse\n")
	wrong := filepath.Join(dir, "wrong")
	writeTextFile(t, wrong, "wrong-horse\n")
	other := filepath.Join(dir, "other.pem")
	writeTextFile(t, other, otherAuthority)
	kafka := map[string]any{
		"brokers": broker.Addresses,
		"tls":     map[string]any{"enabled": true, "caFile": broker.CertificateFile},
		"sasl":    map[string]any{"mechanism": "scram-sha-256", "username": "quarry", "password": "file:" + secret},
	}

	t.Run("right", func(t *testing.T) {
		c := &crashing{t: t, dir: dir, config: filepath.Join(dir, "quarry.yaml"), tree: filepath.Join(dir, "demo")}
		writeTextFile(t, c.config, kafkaConfiguration(dir, kafka))
		if err := runGit("", "init", "-q", "-b", "main", c.tree); err != nil {
			t.Fatal(err)
		}
		c.commitFile("first", "here is a theorbo")
		var err error
		if c.server, err = startServer(dir, os.Environ(), "--config", c.config, "--data", filepath.Join(dir, "data")); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := c.server.stop(); err != nil {
				t.Error(err)
			}
		}()
		c.indexTree()
		c.awaitWord("theorbo")
	})

	for name, test := range map[string]struct {
		change map[string]any
		says   []string
	}{
		"wrong password":  {map[string]any{"sasl": map[string]any{"mechanism": "scram-sha-256", "username": "quarry", "password": "file:" + wrong}}, []string{`user "quarry"`, "password", "mechanism"}},
		"wrong mechanism": {map[string]any{"sasl": map[string]any{"mechanism": "plain", "username": "quarry", "password": "file:" + secret}}, []string{`user "quarry"`, "mechanism"}},
		"wrong authority": {map[string]any{"tls": map[string]any{"enabled": true, "caFile": other}}, []string{"certificate", "authority"}},
		"wrong name":      {map[string]any{"tls": map[string]any{"enabled": true, "caFile": broker.CertificateFile, "serverName": "kafka.example"}}, []string{"certificate", "kafka.example"}},
		"no TLS":          {map[string]any{"tls": map[string]any{"enabled": false}}, []string{"TLS"}},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := startProxy(t, broker.Addresses[0])
			changed := maps.Clone(kafka)
			maps.Copy(changed, test.change)
			changed["brokers"] = []string{proxy.address}
			config := filepath.Join(t.TempDir(), "quarry.yaml")
			writeTextFile(t, config, kafkaConfiguration(dir, changed))
			wantRefusal(t, config, append(test.says, proxy.address))
			n := proxy.connections.Load()
			t.Logf("%d connections", n)
			if n < 1 || n > maxRefused {
				t.Errorf("%d connections, want 1 to %d", n, maxRefused)
			}
		})
	}
}

// wantRefusal starts the server and expects it to exit with code 1 and one line that
// contains all texts.
func wantRefusal(t *testing.T, config string, says []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "quarry", "serve", "--config", config, "--data", filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0")
	timer := time.AfterFunc(hangDeadline, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d (%v), want 1", code, err)
	}
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(out)), "\n"), func(line string) bool {
		return strings.Contains(line, `msg="memory limits"`) // every start logs this line
	})
	if len(lines) != 1 {
		t.Errorf("%d lines, want one", len(lines))
	}
	for _, text := range says {
		if !strings.Contains(string(out), text) {
			t.Errorf("it does not say %q", text)
		}
	}
	if strings.Contains(string(out), "horse") {
		t.Error("it shows the password")
	}
}

// kafkaConfiguration returns the configuration of the other tests, with Kafka as the log.
func kafkaConfiguration(root string, kafka map[string]any) string {
	var c map[string]any
	_ = json.Unmarshal([]byte(configText(root)), &c) // configText returns valid JSON
	c["log"] = map[string]any{"driver": "kafka", "kafka": kafka}
	text, _ := json.Marshal(c)
	return string(text)
}

func writeTextFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// proxy forwards connections to a broker and counts them.
type proxy struct {
	address     string
	connections atomic.Int64
}

func startProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: l.Addr().String()}
	var running sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); running.Wait() })
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.connections.Add(1)
			running.Go(func() { proxyConnection(conn, to) })
		}
	})
	return p
}

// proxyConnection copies in both directions until both sides have ended.
func proxyConnection(client net.Conn, to string) {
	defer func() { _ = client.Close() }()
	broker, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer func() { _ = broker.Close() }()
	var copying sync.WaitGroup
	for _, way := range [][2]net.Conn{{client, broker}, {broker, client}} {
		copying.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			_ = way[0].(*net.TCPConn).CloseWrite() // the other direction may continue
		})
	}
	copying.Wait()
}

// otherAuthority is a CA certificate that has signed nothing here.
const otherAuthority = `-----BEGIN CERTIFICATE-----
MIIBdjCCAR2gAwIBAgIUf35bfJHKhxLwqNz6mGurwnfAoVkwCgYIKoZIzj0EAwIw
EDEOMAwGA1UEAwwFb3RoZXIwIBcNMjYxMTIxMjI0NTU1WhgPMjEyNjEwMjgyMjQ1
NTVaMBAxDjAMBgNVBAMMBW90aGVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
fZ1Wj7ixDSmzTVdIo/NWfawvsSXzam4Vmgjr9Vw2x9Y0COQ0phNLjZPdv3EBoA18
UqzjiefIopKUCFTEDR7pNqNTMFEwHQYDVR0OBBYEFMRbON7i7TDT2CPow7dbGK2K
6N4hMB8GA1UdIwQYMBaAFMRbON7i7TDT2CPow7dbGK2K6N4hMA8GA1UdEwEB/wQF
MAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgYLdR/sxNW/DQfcRQRCLLSRVBLpwtMaEu
qm4k9nzPqcQCIGnxY/XNo7vIasOqbk6IBXvUtR40rXVddTSGSmvTwbl0
-----END CERTIFICATE-----
`
