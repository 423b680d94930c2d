package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/query/api/internal/jsonout"
	"github.com/quarrysearch/quarry/query/front"
	"github.com/quarrysearch/quarry/query/source"
	"github.com/quarrysearch/quarry/schemas/audit"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/openapi/wire"
	"github.com/quarrysearch/quarry/schemas/pageurl"
)

// maxPathParameter lets a path that is too long be reported as an invalid path, not as a
// bad parameter.
const maxPathParameter = 64 << 10

func (s *Server) showSource(r *http.Request) (*reply, error) {
	p := queryParams(r)
	path, ref := p.textParam("path", maxPathParameter), p.textParam("ref", maxPathParameter)
	repository, err := s.repositoryOf(r.Context(), p)
	if err != nil {
		return nil, err
	}
	file, err := s.o.Source.File(r.Context(), repository, ref, path)
	if err != nil {
		return nil, err
	}
	pages := pageurl.New(repository)
	answer := &wire.FileSource{
		Source: string(file.Text), Language: string(file.Language), Path: path, Repo: repository.Name,
		RepoCodeHostType: wire.CodeHostType(repository.Kind), RepoDisplayName: displayName(repository), RepoExternalWebURL: pages.RepositoryURL(),
		WebURL: s.fileURL(repository.Name, code.Ref(ref), path), ExternalWebURL: pages.FileURL(code.Ref(ref), path), BlobSha: file.Blob,
	}
	s.addOutline(answer, file.Language, p.intParam("tokens") == 1, p.intParam("symbols") == 1)
	return okReply(answer), nil
}

// namedRevision refuses an empty revision name, which elsewhere means the default branch.
func (s *Server) namedRevision(r *http.Request, repository, revision string) (*code.Repository, error) {
	if revision == "" {
		return nil, fmt.Errorf("%w: it is empty; HEAD is the default branch", source.ErrInvalidRevision)
	}
	known, err := s.visibleRepository(r.Context(), repository)
	front.ExchangeIn(r.Context()).AddMetadata("ref", revision)
	return known, err
}

func (s *Server) showTree(r *http.Request) (*reply, error) {
	var in wire.TreeRequest
	if err := s.decodeBody(r, &in); err != nil {
		return nil, err
	}
	repository, err := s.namedRevision(r, in.RepoName, in.RevisionName)
	if err != nil {
		return nil, err
	}
	root, err := s.o.Source.Tree(r.Context(), repository, in.RevisionName, in.Paths)
	if err != nil {
		return nil, err
	}
	return okReply(wire.TreeResponse{Tree: newTreeNode(root)}), nil
}

func newTreeNode(n *source.Node) wire.TreeNode {
	out := wire.TreeNode{Type: wire.TreeNodeType(n.Kind), Path: n.Path, Name: n.Name, Children: make([]wire.TreeNode, len(n.Children))}
	for i, child := range n.Children {
		out.Children[i] = newTreeNode(child)
	}
	return out
}

func (s *Server) listFiles(r *http.Request) (*reply, error) {
	var in wire.FilesRequest
	if err := s.decodeBody(r, &in); err != nil {
		return nil, err
	}
	repository, err := s.namedRevision(r, in.RepoName, in.RevisionName)
	if err != nil {
		return nil, err
	}
	paths, err := s.o.Source.Files(r.Context(), repository, in.RevisionName)
	if err != nil {
		return nil, err
	}
	return okReply(fileList(paths)), nil
}

// fileList writes paths as items: there may be half a million.
type fileList []string

// writeJSON implements streamer.
func (l fileList) writeJSON(out *jsonout.Writer) error {
	out.Raw("[")
	for i, path := range l {
		if i > 0 {
			out.Raw(",")
		}
		out.Raw(`{"type":"blob","path":`)
		out.String(path)
		out.Raw(`,"name":`)
		out.String(path[strings.LastIndexByte(path, '/')+1:])
		if out.Raw("}"); out.Err() != nil {
			return out.Err()
		}
	}
	out.Raw("]\n")
	return nil
}

func (s *Server) folderContents(r *http.Request) (*reply, error) {
	p := queryParams(r)
	name, revision, path := p.textParam("repoName", code.MaxNameBytes), p.textParam("revisionName", maxPathParameter), p.textParam("path", maxPathParameter)
	if p.err != nil {
		return nil, p.err
	}
	repository, err := s.namedRevision(r, name, revision)
	if err != nil {
		return nil, err
	}
	if path != "" {
		front.ExchangeIn(r.Context()).SetAuditTarget(audit.TargetFile, name+":"+path)
	}
	entries, err := s.o.Source.Folder(r.Context(), repository, revision, path)
	if err != nil {
		return nil, err
	}
	prefix := strings.Trim(path, "/")
	var submodules map[string]source.Submodule
	if slices.ContainsFunc(entries, func(e source.Entry) bool { return e.Kind == source.KindCommit }) {
		submodules = s.listSubmodules(r.Context(), repository, revision, prefix)
	}
	if prefix != "" {
		prefix += "/"
	}
	items := make([]wire.FolderItem, len(entries))
	for i, e := range entries {
		items[i] = wire.FolderItem{Type: wire.FolderItemType(e.Kind), Path: prefix + e.Name, Name: e.Name, Submodule: s.newSubmodule(submodules, prefix+e.Name)}
	}
	return okReply(items), nil
}
