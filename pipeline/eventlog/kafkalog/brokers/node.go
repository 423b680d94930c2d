package brokers

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// node is one process of a cluster.
type node struct {
	clusterConfig *clusterConfig
	config        string         // path of server.properties
	output        string         // path of its output
	child         *exec.Cmd      // nil if it does not run
	stdin         io.WriteCloser // commands for the keeper
}

func newNode(shape *clusterConfig, number int, dir string) (*node, error) {
	n := &node{clusterConfig: shape, config: filepath.Join(dir, "server.properties"), output: filepath.Join(dir, "output")}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return n, os.WriteFile(n.config, []byte(shape.serverProperties(number, filepath.Join(dir, "data"))), 0o600)
}

// clusterID is the same for all clusters, which are isolated from each other.
const clusterID = "cXVhcnJ5LXRlc3QtLS0tLQ"

// heapOption bounds the heap, most of a broker's memory: the smallest machine must be
// able to run three.
const heapOption = "-Xmx512m"

func (n *node) javaArguments(class string, arguments ...string) []string {
	return append([]string{
		heapOption, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-cp", filepath.Join(n.clusterConfig.libs, "*"), class,
	}, arguments...)
}

// formatStorage creates the node's storage, and the cluster's user.
func (n *node) formatStorage() error {
	arguments := []string{"format", "-t", clusterID, "-c", n.config}
	if sasl := n.clusterConfig.sasl; sasl != nil {
		arguments = append(arguments, "--add-scram", fmt.Sprintf("SCRAM-SHA-256=[name=%s,password=%s]", sasl.Username, sasl.Password))
	}
	for name, password := range n.clusterConfig.users {
		for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
			arguments = append(arguments, "--add-scram", fmt.Sprintf("%s=[name=%s,password=%s]", mechanism, name, password))
		}
	}
	out, err := exec.Command(n.clusterConfig.java, n.javaArguments("kafka.tools.StorageTool", arguments...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("format a broker's storage: %w\n%s", err, out)
	}
	return nil
}

// keeper is a shell script that runs the broker and waits for a command, or for the end
// of this process, which closes its standard input.
const keeper = `"$@" </dev/null & p=$!
order=kill; read order
if [ "$order" = stop ]; then kill -TERM $p; else kill -KILL $p; fi
wait $p`

func (n *node) run() error {
	if n.child != nil {
		return fmt.Errorf("broker of %s runs already", n.config)
	}
	// A file instead of a buffer, because a buffer needs a goroutine, which tests that
	// check for leaks would find.
	output, err := os.OpenFile(n.output, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer output.Close()
	child := exec.Command("/bin/sh", append([]string{"-c", keeper, "sh", n.clusterConfig.java}, n.javaArguments("kafka.Kafka", n.config)...)...)
	child.Stdout, child.Stderr = output, output
	// Use a separate process group: an interrupt of this program must not end the broker
	// before its clients have ended.
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if n.stdin, err = child.StdinPipe(); err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return fmt.Errorf("start a broker: %w", err)
	}
	n.child = child
	return nil
}

// endProcess sends a command and waits until the node has ended. A second call does
// nothing.
func (n *node) endProcess(order string) error {
	if n.child == nil {
		return nil
	}
	_, err := io.WriteString(n.stdin, order+"\n")
	_ = n.stdin.Close()
	// The status is that of a process ended by a signal.
	_ = n.child.Wait()
	n.child = nil
	if err != nil {
		return fmt.Errorf("end a broker: %w\n%s", err, n.outputTail())
	}
	return nil
}

// maxPrinted bounds the node's output in an error message.
const maxPrinted = 4 << 10

// outputTail returns the end of the node's output, for an error message.
func (n *node) outputTail() []byte {
	// Best effort: the error is useful without it.
	b, _ := os.ReadFile(n.output)
	return b[max(0, len(b)-maxPrinted):]
}
