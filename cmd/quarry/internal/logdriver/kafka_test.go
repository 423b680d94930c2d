package logdriver

import "testing"

// TestInstanceName checks that a data directory keeps its name after a restart, and that
// another directory has another name.
func TestInstanceName(t *testing.T) {
	var names []string
	for _, data := range []string{"data", "data", "./data", "other"} {
		name, err := instanceName(data)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if names[0] != names[1] || names[0] != names[2] || names[0] == names[3] {
		t.Errorf("names %q, want three equal ones and another", names)
	}
}
