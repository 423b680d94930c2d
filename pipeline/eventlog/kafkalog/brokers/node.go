package brokers

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
)

// node is one process of a cluster.
type node struct {
	clusterConfig *clusterConfig
	number        int
	config        string         // path of server.properties
	data          string         // its storage
	output        string         // path of its output
	child         *exec.Cmd      // nil if it does not run
	stdin         io.WriteCloser // commands for the keeper
}

func newNode(shape *clusterConfig, number int, dir string) (*node, error) {
	n := &node{clusterConfig: shape, number: number, config: filepath.Join(dir, "server.properties"), data: filepath.Join(dir, "data"), output: filepath.Join(dir, "output")}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return n, os.WriteFile(n.config, []byte(shape.serverProperties(number, n.data)), 0o600)
}

// heapOption bounds the heap, most of a broker's memory: the smallest machine must be
// able to run three.
const heapOption = "-Xmx512m"

// javaArguments returns the arguments of Java for a program. The flags save CPU time at
// the start, and do not matter to a broker that serves a test.
func (n *node) javaArguments(flags []string, class string, arguments ...string) []string {
	return slices.Concat([]string{heapOption, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}, flags,
		[]string{"-cp", filepath.Join(n.clusterConfig.libs, "*"), class}, arguments)
}

func (n *node) archiveFlags() []string {
	if n.clusterConfig.archive == "" {
		return nil
	}
	return []string{n.clusterConfig.archive}
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
	child := exec.Command("/bin/sh", append([]string{"-c", keeper, "sh", n.clusterConfig.java}, n.javaArguments(n.archiveFlags(), "kafka.Kafka", n.config)...)...)
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
