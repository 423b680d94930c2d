// Package gitmodules reads .gitmodules files, in which a repository records the URLs of
// its submodules (gitmodules(5), in the format of git-config(1)).
//
// It answers the question "from where would git clone the submodules of this tree?".
//
// Main functions: Parse, ResolveURL.
//
// The files are untrusted: anyone who may push writes them. Git does not parse them here,
// because it would follow their includes. A URL is only ever compared with the clone URLs
// of registered repositories; nothing is fetched from it.
//
// # Bounds
//
// Callers read at most MaxBytes. A file with more than 10,000 submodules is refused. A URL
// has at most code.MaxURLBytes.
package gitmodules
