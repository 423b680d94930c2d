//go:build !unix

package mirror

import (
	"os"
	"os/exec"
)

// ownGroup does nothing, because this system has no process groups. Child processes of
// git end when their pipes close.
func ownGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) error {
	if cmd.Process == nil {
		return os.ErrProcessDone
	}
	return cmd.Process.Kill()
}
