//go:build unix

package mirror

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup makes cmd the leader of a process group, so that its child processes
// (git-remote-https, ssh) are killed with it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) error {
	if cmd.Process == nil {
		return os.ErrProcessDone
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		return os.ErrProcessDone
	}
	return nil
}
