package codehosts

import (
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/pipeline/discovery"
	"github.com/quarrysearch/quarry/pipeline/discovery/azuredevops"
	"github.com/quarrysearch/quarry/pipeline/discovery/bitbucketcloud"
	"github.com/quarrysearch/quarry/pipeline/discovery/bitbucketserver"
	"github.com/quarrysearch/quarry/pipeline/discovery/generic"
	"github.com/quarrysearch/quarry/pipeline/discovery/gerrit"
	"github.com/quarrysearch/quarry/pipeline/discovery/gitea"
	"github.com/quarrysearch/quarry/pipeline/discovery/github"
	"github.com/quarrysearch/quarry/pipeline/discovery/gitlab"
	"github.com/quarrysearch/quarry/schemas/code"
)

// MemberKinds returns the listers of the kinds of code host whose permissions can be read.
func MemberKinds() map[code.HostKind]discovery.Open {
	return map[code.HostKind]discovery.Open{
		code.GitHub:          github.Open,
		code.GitLab:          gitlab.Open,
		code.Gitea:           gitea.Open,
		code.BitbucketServer: bitbucketserver.Open,
		code.BitbucketCloud:  bitbucketcloud.Open,
	}
}

// HostName returns the host name of a connection whose permissions can be read. The names
// of its repositories begin with it.
func HostName(c *config.Connection) (string, error) {
	public := map[code.HostKind]string{
		code.GitHub: github.DefaultURL, code.GitLab: gitlab.DefaultURL, code.Gitea: gitea.DefaultURL,
		code.BitbucketCloud: bitbucketcloud.DefaultURL,
	}
	host, err := discovery.ParseHost(discovery.Connection{Name: c.Name, Kind: c.Kind, URL: c.URL}, public[c.Kind])
	return host.Name, err
}

// Listers returns the lister of each kind of code host.
func Listers() map[code.HostKind]discovery.Open {
	return map[code.HostKind]discovery.Open{
		code.GitHub:          github.Open,
		code.GitLab:          gitlab.Open,
		code.Gitea:           gitea.Open,
		code.Gerrit:          gerrit.Open,
		code.BitbucketServer: bitbucketserver.Open,
		code.BitbucketCloud:  bitbucketcloud.Open,
		code.GenericGitHost:  generic.Open,
		code.AzureDevOps:     azuredevops.Open,
	}
}
