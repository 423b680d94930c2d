package gitmodules

import (
	"net/url"
	"path"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// ResolveURL returns a clone URL, without user and password of HTTP, for a URL of
// .gitmodules; empty for a URL that Quarry would not pass to git. As in git, a URL that
// begins with ./ or ../ is relative to base, the clone URL of the containing repository.
func ResolveURL(base, text string) string {
	if len(text) > code.MaxURLBytes {
		return ""
	}
	if strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../") {
		return resolveRelativeURL(base, text)
	}
	if u, err := url.Parse(text); err == nil && u.User != nil && (u.Scheme == "https" || u.Scheme == "http") {
		u.User = nil // a user is not part of the name, and a password must not be shown
		text = u.String()
	}
	clone, err := code.ParseCloneURL(text)
	if err != nil {
		return ""
	}
	if host, path, ok := strings.Cut(text, ":"); ok && !strings.HasPrefix(text, "/") && !strings.HasPrefix(path, "//") {
		// Convert user@host:path to a URL: otherwise it could contain script for a page.
		text = "ssh://" + host + (&url.URL{Path: "/" + strings.TrimPrefix(path, "/")}).EscapedPath()
		if same, err := code.ParseCloneURL(text); err != nil || !same.Same(clone) {
			return ""
		}
	}
	return text
}

// resolveRelativeURL resolves a URL that begins with ./ or ../ against the clone URL
// base; empty if it leads above the root of the host.
func resolveRelativeURL(base, text string) string {
	clone, err := code.ParseCloneURL(base)
	if err != nil {
		return ""
	}
	elements := strings.Split(clone.Path, "/")
	for {
		if rest, ok := strings.CutPrefix(text, "./"); ok {
			text = rest
			continue
		}
		rest, ok := strings.CutPrefix(text, "../")
		if !ok {
			break
		}
		if len(elements) == 0 {
			return "" // above the root of the host
		}
		text, elements = rest, elements[:len(elements)-1]
	}
	// The rest must not contain ".." again: git passes it on as it is, and a host may
	// resolve it.
	if text == "" || path.Clean("/"+text) != "/"+strings.TrimSuffix(text, "/") {
		return ""
	}
	out := "/" + strings.Join(append(elements[:len(elements):len(elements)], text), "/")
	if clone.Scheme != "file" {
		out = clone.Scheme + "://" + clone.Host + (&url.URL{Path: out}).EscapedPath()
	}
	if _, err := code.ParseCloneURL(out); err != nil {
		return ""
	}
	return out
}
