package pageurl

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/quarrysearch/quarry/schemas/code"
)

// Pages builds the URLs of a repository's pages on its code host. A URL is empty if the
// host has no such page that Quarry knows.
type Pages struct {
	kind          code.HostKind
	web           string
	defaultBranch string
}

// New returns the pages of a repository, which follow from its kind and its WebURL.
func New(r *code.Repository) Pages {
	p := Pages{kind: r.Kind, defaultBranch: r.DefaultBranch}
	if isLink(r.WebURL) {
		p.web = strings.TrimRight(r.WebURL, "/")
	}
	return p
}

// isLink reports whether s may become a link in a page.
func isLink(s string) bool {
	if !strings.HasPrefix(s, "https://") && !strings.HasPrefix(s, "http://") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// RepositoryURL returns the URL of the repository's page.
func (p Pages) RepositoryURL() string { return p.web }

// base returns the prefix of the URLs of all other pages. A repository page whose URL has
// a query or a fragment, as in cgit, has no pages below it.
func (p Pages) base() string {
	if strings.ContainsAny(p.web, "?#") {
		return ""
	}
	return p.web
}

// revision is a parsed ref.
type revision struct {
	name string
	kind revisionKind
}

type revisionKind int

const (
	defaultBranch revisionKind = iota // whose name is unknown
	branch
	tag
	commit
)

// revisionOf parses a full ref, a short branch name, or a commit. Empty means the default
// branch.
func (p Pages) revisionOf(ref code.Ref) revision {
	if ref == "" || ref == "HEAD" {
		if p.defaultBranch == "" {
			return revision{name: "HEAD"}
		}
		return revision{p.defaultBranch, branch}
	}
	if ref.IsTag() {
		return revision{ref.Short(), tag}
	}
	if ref.IsPin() {
		return revision{ref.Short(), commit}
	}
	if id, err := code.ParseCommitID(string(ref)); err == nil && id != "" {
		return revision{string(id), commit}
	}
	return revision{ref.Short(), branch}
}

// RefURL returns the URL of the root directory at a branch, a tag or a commit. An empty
// ref means the default branch.
func (p Pages) RefURL(ref code.Ref) string {
	web := p.base()
	if web == "" {
		return ""
	}
	r := p.revisionOf(ref)
	name := escapePath(r.name)
	switch p.kind {
	case code.GitHub:
		return web + "/tree/" + name
	case code.GitLab:
		return web + "/-/tree/" + name
	case code.Gitea:
		return web + giteaSource(r)
	case code.AzureDevOps:
		if version := azureVersion(r); version != "" {
			return web + "?version=" + version
		}
		return web
	case code.BitbucketCloud, code.BitbucketServer:
		if r.kind == defaultBranch {
			return web
		}
		return web + "?at=" + escapeQuery(r.name)
	case code.Gerrit:
		return web + "/+/" + gitilesName(r)
	}
	return ""
}

// CommitURL returns the URL of a commit's page.
func (p Pages) CommitURL(id code.CommitID) string {
	web := p.base()
	if web == "" || id == "" {
		return ""
	}
	name := escapePath(string(id))
	switch p.kind {
	case code.GitHub, code.Gitea, code.AzureDevOps:
		return web + "/commit/" + name
	case code.GitLab:
		return web + "/-/commit/" + name
	case code.BitbucketCloud, code.BitbucketServer:
		return web + "/commits/" + name
	case code.Gerrit:
		return web + "/+/" + name
	}
	return ""
}

// FileURL returns the URL of a file at a ref; see RefURL.
func (p Pages) FileURL(ref code.Ref, path string) string {
	files := p.Files(ref)
	return string(files.AppendURL(nil, path))
}

// LinesURL returns the URL of a file with the lines from first to last highlighted, both
// counted from 1. If last is less than first, only first is highlighted.
func (p Pages) LinesURL(ref code.Ref, path string, first, last int) string {
	file := p.FileURL(ref, path)
	if file == "" || first < 1 {
		return file
	}
	return file + p.lineSuffix(first, max(first, last))
}

// lineSuffix returns the part of a file's URL that highlights lines.
func (p Pages) lineSuffix(first, last int) string {
	switch p.kind {
	case code.GitHub, code.Gitea:
		return joinLines("#L", first, "-L", last)
	case code.GitLab:
		return joinLines("#L", first, "-", last)
	case code.BitbucketCloud:
		return joinLines("#lines-", first, ":", last)
	case code.BitbucketServer:
		return joinLines("#", first, "-", last)
	case code.AzureDevOps:
		// With a column of 1, lineEnd is exclusive.
		return fmt.Sprintf("&line=%d&lineEnd=%d&lineStartColumn=1&lineEndColumn=1", first, last+1)
	case code.Gerrit:
		return fmt.Sprintf("#%d", first) // Gitiles highlights one line
	}
	return ""
}

func joinLines(before string, first int, between string, last int) string {
	if first == last {
		return fmt.Sprintf("%s%d", before, first)
	}
	return fmt.Sprintf("%s%d%s%d", before, first, between, last)
}

// Files builds the URLs of the files of one ref from the parts before and after the path.
type Files struct {
	before, after string
	inQuery       bool
}

// Files returns the pages of the files of a ref; see RefURL.
func (p Pages) Files(ref code.Ref) Files {
	web := p.base()
	if web == "" {
		return Files{}
	}
	r := p.revisionOf(ref)
	name := escapePath(r.name)
	switch p.kind {
	case code.GitHub:
		return Files{before: web + "/blob/" + name + "/"}
	case code.GitLab:
		return Files{before: web + "/-/blob/" + name + "/"}
	case code.Gitea:
		return Files{before: web + giteaSource(r) + "/"}
	case code.AzureDevOps:
		after := ""
		if version := azureVersion(r); version != "" {
			after = "&version=" + version
		}
		return Files{before: web + "?path=/", after: after, inQuery: true}
	case code.BitbucketCloud:
		return Files{before: web + "/src/" + name + "/"}
	case code.BitbucketServer:
		if r.kind == defaultBranch {
			return Files{before: web + "/browse/"}
		}
		return Files{before: web + "/browse/", after: "?at=" + escapeQuery(r.name)}
	case code.Gerrit:
		return Files{before: web + "/+/" + gitilesName(r) + "/"}
	}
	return Files{}
}

// AppendURL appends the URL of a file's page, or nothing if there is none.
func (f *Files) AppendURL(b []byte, path string) []byte {
	switch {
	case f.before == "":
		return b
	case f.inQuery:
		b = appendQuery(append(b, f.before...), path)
	default:
		b = AppendPath(append(b, f.before...), path, true)
	}
	return append(b, f.after...)
}

// giteaSource returns the path elements for the kind of a revision: /src/branch/,
// /src/tag/ or /src/commit/.
func giteaSource(r revision) string {
	kind := map[revisionKind]string{tag: "tag", commit: "commit"}[r.kind]
	return "/src/" + cmp.Or(kind, "branch") + "/" + escapePath(r.name)
}

// azureVersion returns a revision in the syntax of Azure DevOps URLs: GB, GT or GC, then
// the name. If the letters are missing, as in
// version=main, Azure DevOps shows the default branch. It returns "" for a default branch
// whose name is unknown.
func azureVersion(r revision) string {
	prefix := map[revisionKind]string{branch: "GB", tag: "GT", commit: "GC"}[r.kind]
	if prefix == "" {
		return ""
	}
	return prefix + escapeQuery(r.name)
}

// gitilesName returns a revision as Gitiles spells it in URLs. Gitiles looks up a short
// name among the branches first, so a tag gets its full name.
func gitilesName(r revision) string {
	if r.kind == tag {
		return "refs/tags/" + escapePath(r.name)
	}
	return escapePath(r.name)
}
