package codehosts

import (
	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/azuredevops"
	"github.com/quarrysearch/quarry/ingest/bitbucketcloud"
	"github.com/quarrysearch/quarry/ingest/bitbucketserver"
	"github.com/quarrysearch/quarry/ingest/generic"
	"github.com/quarrysearch/quarry/ingest/gerrit"
	"github.com/quarrysearch/quarry/ingest/gitea"
	"github.com/quarrysearch/quarry/ingest/github"
	"github.com/quarrysearch/quarry/ingest/gitlab"
	"github.com/quarrysearch/quarry/schemas/code"
)

// Translators returns the translator of each kind of code host.
func Translators() map[code.HostKind]ingest.Open {
	return map[code.HostKind]ingest.Open{
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
