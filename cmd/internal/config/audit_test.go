package config

import (
	"strings"
	"testing"
)

func TestAudit(t *testing.T) {
	for _, c := range []struct{ set, wrong string }{
		{"audit.retention=0s", ""},
		{"audit.retention=1h", "audit.retention"},
		{"audit.retention=-1h", "audit.retention"},
		{"audit.sealEvery=0s", "audit.sealEvery"},
		{"audit.sealEvery=48h", "audit.sealEvery"},
		{"audit.queueBytes=1", "audit.queueBytes"},
		{"audit.maxWait=0s", "audit.maxWait"},
		{"audit.maxWait=1m", "audit.maxWait"},
		{"audit.required=false", ""},
	} {
		_, _, err := Loader{Set: []string{c.set}}.Load()
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v", c.set, err)
		}
	}
}
