package boot

import "testing"

// TestVersionOf checks that every build has a version, because clients compare versions.
func TestVersionOf(t *testing.T) {
	for _, tc := range []struct{ stamped, module, want string }{
		{"v1.2.3", "v0.0.0-20261122133517-035cb01b0c8d", "v1.2.3"},
		{"", "v1.2.4-0.20261122133517-035cb01b0c8d+dirty", "v1.2.4-0.20261122133517-035cb01b0c8d+dirty"},
		{"v1.2.3-14-g035cb01", "", "v1.2.3-14-g035cb01"},
		{"1.2.3", "(devel)", "v0.0.0-devel"},
		{"nightly", "v1.2.3", "v1.2.3"},
		{"", "", "v0.0.0-devel"},
	} {
		if got := versionOf(tc.stamped, tc.module); got != tc.want {
			t.Errorf("stamped %q, module %q: %s, want %s", tc.stamped, tc.module, got, tc.want)
		}
	}
	if v := ReadBuild().Version; !versionPattern.MatchString(v) {
		t.Errorf("the version of this build is %q", v)
	}
}
