package mirror

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/quarrysearch/quarry/pipeline/gittest"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Over ssh, git uses the key and the known hosts of the connection, connects to the
// checked address, and refuses a host with another key.
func TestSSH(t *testing.T) {
	if _, err := exec.LookPath("ssh"); err != nil && os.Getenv("QUARRY_REQUIRE_ALL") != "1" {
		t.Skip("needs ssh")
	}
	repo := gittest.New(t)
	commit := repo.CommitFiles("a", "1")
	dir := filepath.Join(t.TempDir(), "with space")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	client := writeKey(t, filepath.Join(dir, "key"))
	writeKey(t, filepath.Join(dir, "other"))
	server := serveSSH(t, client.PublicKey(), repo.Dir)
	_, port, _ := net.SplitHostPort(server.address)
	const name = "ssh.invalid"
	known, wrong := filepath.Join(dir, "known_hosts"), filepath.Join(dir, "wrong")
	writeKnownHost(t, known, "["+name+"]:"+port, server.key)
	writeKnownHost(t, wrong, "["+name+"]:"+port, client.PublicKey())
	policy := loopback
	policy.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	var access Access
	ms, err := Open(t.Context(), Options{
		Dir: filepath.Join(t.TempDir(), "mirrors"), Policy: policy,
		Access: func(context.Context, code.Repository) (Access, error) { return access, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer ms.Close()
	r := repo.Code("ssh")
	r.CloneURL = "https://elsewhere.invalid/repository.git" // a host that is cloned over ssh
	for _, c := range []struct {
		name, key, known string
		want             error
		says             string
	}{
		{"right key", "key", known, nil, ""},
		{"key of somebody else", "other", known, ErrUnauthorized, "Permission denied (publickey"},
		{"host with another key", "key", wrong, ErrUnauthorized, "Host key verification failed"},
		{"unknown host", "key", filepath.Join(dir, "absent"), ErrUnauthorized, "Host key verification failed"},
	} {
		access = Access{CloneURL: "ssh://git@" + name + ":" + port + "/repository.git", SSHKeyFile: filepath.Join(dir, c.key), KnownHostsFile: c.known}
		state, err := ms.Mirror(r.ID).Fetch(t.Context(), r)
		if !errors.Is(err, c.want) || c.want == nil && (err != nil || state.Revisions[0].Commit != commit) || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %+v, %v; want %v", c.name, state, err, c.want)
		}
	}
}

// writeKey creates a private key and writes it in the format that ssh reads.
func writeKey(t *testing.T, path string) ssh.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err == nil {
		err = os.WriteFile(path, pem.EncodeToMemory(block), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func writeKnownHost(t *testing.T, path, host string, key ssh.PublicKey) {
	t.Helper()
	if err := os.WriteFile(path, []byte(knownhosts.Line([]string{host}, key)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// sshServer serves one repository to the holder of one key.
type sshServer struct {
	address string
	key     ssh.PublicKey
}

func serveSSH(t *testing.T, client ssh.PublicKey, repository string) sshServer {
	t.Helper()
	host := writeKey(t, filepath.Join(t.TempDir(), "host"))
	config := &ssh.ServerConfig{PublicKeyCallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if c.User() != "git" || string(key.Marshal()) != string(client.Marshal()) {
			return nil, errors.New("unknown key")
		}
		return nil, nil
	}}
	config.AddHostKey(host)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serveSSHConnection(conn, config, repository)
		}
	}()
	return sshServer{listener.Addr().String(), host.PublicKey()}
}

func serveSSHConnection(conn net.Conn, config *ssh.ServerConfig, repository string) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		go func() {
			defer channel.Close()
			for request := range requests {
				if request.Type != "exec" {
					_ = request.Reply(request.Type == "env", nil)
					continue
				}
				_ = request.Reply(true, nil)
				status := byte(1)
				if strings.HasSuffix(string(request.Payload), "git-upload-pack '/repository.git'") && runUploadPack(channel, repository) == nil {
					status = 0
				}
				_, _ = channel.SendRequest("exit-status", false, []byte{0, 0, 0, status})
				return
			}
		}()
	}
}

func runUploadPack(channel ssh.Channel, repository string) error {
	upload := exec.Command("git", "-c", "safe.directory=*", "upload-pack", repository)
	upload.Stdout, upload.Stderr = channel, channel.Stderr()
	stdin, err := upload.StdinPipe()
	if err == nil {
		err = upload.Start()
	}
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(stdin, channel)
		_ = stdin.Close()
	}()
	return upload.Wait()
}
