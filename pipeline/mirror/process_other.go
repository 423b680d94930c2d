//go:build !unix

package mirror

import (
	"os"
	"os/exec"
)

// ownGroup does nothing: there are no process groups here. What git starts ends
// when its pipes close.
func ownGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) error {
	if cmd.Process == nil {
		return os.ErrProcessDone
	}
	return cmd.Process.Kill()
}
