package pageurl

import "net/url"

// plainInPath holds the bytes that url.PathEscape does not escape.
var plainInPath = func() (plain [256]bool) {
	for c := range plain {
		one := string([]byte{byte(c)})
		plain[c] = url.PathEscape(one) == one
	}
	return plain
}()

// plainInQuery holds the bytes that appendQuery does not escape: a slash, which RFC 3986
// allows in a query, and those that url.QueryEscape does not escape.
var plainInQuery = func() (plain [256]bool) {
	for c := range plain {
		one := string([]byte{byte(c)})
		plain[c] = one == "/" || url.QueryEscape(one) == one
	}
	return plain
}()

// AppendPath appends a path, escaped as by url.PathEscape. If slashes is true, it does
// not escape slashes.
func AppendPath(b []byte, path string, slashes bool) []byte {
	for i := range len(path) {
		if c := path[i]; plainInPath[c] && c != '/' || c == '/' && slashes {
			b = append(b, c)
		} else {
			b = appendEscape(b, c)
		}
	}
	return b
}

// appendQuery appends a query value. A space becomes %20, which every server and script
// decodes, unlike a plus sign.
func appendQuery(b []byte, value string) []byte {
	for i := range len(value) {
		if c := value[i]; plainInQuery[c] {
			b = append(b, c)
		} else {
			b = appendEscape(b, c)
		}
	}
	return b
}

func appendEscape(b []byte, c byte) []byte {
	const hex = "0123456789ABCDEF"
	return append(b, '%', hex[c>>4], hex[c&15])
}

// escapePath escapes the elements of a path and keeps its slashes.
func escapePath(path string) string { return string(AppendPath(nil, path, true)) }

func escapeQuery(value string) string { return string(appendQuery(nil, value)) }
