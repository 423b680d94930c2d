package boot

import (
	"cmp"
	"runtime/debug"
)

// Build says what a binary was made of.
type Build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
}

// ReadBuild returns what the Go toolchain stamped into the binary: the module's
// version, which it derives from the newest tag, and the commit. A binary that
// was built outside a checkout says "devel".
func ReadBuild() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Build{Version: "devel"}
	}
	b := Build{Version: info.Main.Version, Go: info.GoVersion}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	if b.Version == "(devel)" {
		b.Version = ""
	}
	b.Version = cmp.Or(b.Version, "devel")
	return b
}
