package boot

import (
	"regexp"
	"runtime/debug"
)

// Build says what a binary was made of.
type Build struct {
	// Version is a semantic version with a leading v. That of a release has three
	// numbers only; a development build has a pre-release part, and a modified
	// checkout the suffix +dirty.
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
}

// release is stamped by make build RELEASE=v1.2.3, for trees that have no tag.
var release string

// unknownVersion is that of a build that has neither a stamp nor a commit.
const unknownVersion = "v0.0.0-devel"

// ReadBuild returns what the build stamped into the binary: its release, else the
// module's version, which the Go toolchain derives from the newest tag and the
// commit.
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

// versionOf returns the first of its arguments that is a version.
func versionOf(stamped, module string) string {
	for _, v := range []string{stamped, module} {
		if versionPattern.MatchString(v) {
			return v
		}
	}
	return unknownVersion
}
