package boot

import (
	"regexp"
	"runtime/debug"
)

// Build describes the build of a binary.
type Build struct {
	// Version is a semantic version with a leading v. A release has three numbers only; a
	// development build has a pre-release part, and a modified checkout the suffix
	// +dirty.
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
}

// release is set by make build RELEASE=v1.2.3, for trees without a tag.
var release string

// unknownVersion is the version of a build that has neither a release nor a commit.
const unknownVersion = "v0.0.0-devel"

// ReadBuild returns the build information in the binary: its release, or else the
// module's version, which the Go toolchain derives from the newest tag and the commit.
func ReadBuild() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Build{Version: versionOf(release, "")}
	}
	b := Build{Version: versionOf(release, info.Main.Version), Go: info.GoVersion}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

var versionPattern = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// versionOf returns the first argument that is a version.
func versionOf(stamped, module string) string {
	for _, v := range []string{stamped, module} {
		if versionPattern.MatchString(v) {
			return v
		}
	}
	return unknownVersion
}
