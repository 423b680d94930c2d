package brokers

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
)

// Files of a formatted storage. The checkpoint holds the features and the users of a new
// cluster. It is the same for all nodes, and the properties identify the node.
const (
	checkpointFile = "bootstrap.checkpoint"
	propertiesFile = "meta.properties"
)

// formatting makes one goroutine at a time look for a checkpoint and write it.
var formatting sync.Mutex

// formatStorage creates the node's storage, and the users of the cluster. The storage tool
// takes a second of CPU time or two, so its checkpoint is kept next to the directory of the
// jars, for every process with the same users.
func (n *node) formatStorage() error {
	arguments := append([]string{"format"}, n.clusterConfig.userArguments()...)
	formatting.Lock()
	defer formatting.Unlock()
	kept, err := n.clusterConfig.cachePath("storage-%s.checkpoint", arguments...)
	if err != nil {
		return err
	}
	if written, err := os.ReadFile(kept); err == nil {
		return n.copyStorage(written)
	}
	out, err := exec.Command(n.clusterConfig.java, n.javaArguments(nil, "kafka.tools.StorageTool", append(arguments, "-t", n.clusterConfig.id, "-c", n.config)...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("format a broker's storage: %w\n%s", err, out)
	}
	written, err := os.ReadFile(filepath.Join(n.data, checkpointFile))
	if err != nil {
		return fmt.Errorf("format a broker's storage: %w\n%s", err, out)
	}
	// Another process never reads half of it. Without the file, it runs the tool.
	if part := fmt.Sprint(kept, ".", os.Getpid()); os.WriteFile(part, written, 0o600) == nil {
		_ = os.Rename(part, kept)
	}
	return nil
}

// copyStorage creates the storage with the checkpoint of another node or cluster.
func (n *node) copyStorage(checkpoint []byte) error {
	if err := os.MkdirAll(n.data, 0o755); err != nil {
		return err
	}
	properties := fmt.Sprintf("version=1\ncluster.id=%s\nnode.id=%d\ndirectory.id=%s\n", n.clusterConfig.id, n.number, newID())
	if err := os.WriteFile(filepath.Join(n.data, propertiesFile), []byte(properties), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(n.data, checkpointFile), checkpoint, 0o644)
}

// newID returns a random ID in the form of the storage tool: 16 bytes in base64,
// not beginning with a dash.
func newID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails
	id[0] &= 0x7f
	return base64.RawURLEncoding.EncodeToString(id[:])
}

// userArguments returns the arguments of the storage tool for the users of the cluster.
func (s *clusterConfig) userArguments() []string {
	var arguments []string
	if s.sasl != nil {
		arguments = append(arguments, "--add-scram", fmt.Sprintf("SCRAM-SHA-256=[name=%s,password=%s]", s.sasl.Username, s.sasl.Password))
	}
	for _, name := range slices.Sorted(maps.Keys(s.users)) {
		for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
			arguments = append(arguments, "--add-scram", fmt.Sprintf("%s=[name=%s,password=%s]", mechanism, name, s.users[name]))
		}
	}
	return arguments
}
