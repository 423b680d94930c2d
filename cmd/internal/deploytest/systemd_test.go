package deploytest

import (
	"strings"
	"testing"
)

// maxExposure is the greatest exposure of the unit, in tenths: 2.0 of 10.
const maxExposure = "20"

// TestUnitIsHardened checks the unit, and how much of the machine it exposes.
func TestUnitIsHardened(t *testing.T) {
	analyze := requireProgram(t, "systemd-analyze", "Debian and Ubuntu have it in the package systemd")
	const unit = "deploy/systemd/quarry.service"
	out, err := runProgram(t, analyze, "security", "--offline=true", "--threshold="+maxExposure, "--no-pager", unit)
	if err != nil {
		t.Errorf("the unit exposes more than %s tenths: %v\n%s", maxExposure, err, out)
	}
	t.Log(out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:])
}
