package web

import (
	"net/url"
	"strings"
)

// returnPath returns where to go after a sign-in: path if it leads to one of our pages,
// and otherwise the home page. It rejects texts that a browser may interpret as another
// host: two slashes at the beginning, backslashes, which browsers turn into slashes, and
// control characters, which they drop.
func returnPath(path string) string {
	const home = "/"
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || len(path) > maxReturnBytes {
		return home
	}
	for _, c := range []byte(path) {
		if c == '\\' || c < 0x20 || c >= 0x7f {
			return home
		}
	}
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil {
		return home
	}
	for _, element := range strings.Split(u.Path, "/") {
		if element == ".." || element == "." {
			return home
		}
	}
	// A decoded path that begins with two slashes or contains a backslash is harmless to
	// browsers, but no page has it.
	if strings.HasPrefix(u.Path, "//") || strings.Contains(u.Path, `\`) {
		return home
	}
	return path
}
