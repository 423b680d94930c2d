package server

import (
	"context"
	"fmt"

	"github.com/quarrysearch/quarry/cmd/internal/boot"
	"github.com/quarrysearch/quarry/cmd/internal/config"
	"github.com/quarrysearch/quarry/ingest"
	"github.com/quarrysearch/quarry/ingest/azuredevops"
	"github.com/quarrysearch/quarry/ingest/bitbucketcloud"
	"github.com/quarrysearch/quarry/ingest/bitbucketserver"
	"github.com/quarrysearch/quarry/ingest/generic"
	"github.com/quarrysearch/quarry/ingest/gerrit"
	"github.com/quarrysearch/quarry/ingest/gitea"
	"github.com/quarrysearch/quarry/ingest/github"
	"github.com/quarrysearch/quarry/ingest/gitlab"
	"github.com/quarrysearch/quarry/ingest/webhook"
	"github.com/quarrysearch/quarry/pipeline/eventlog"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// hostTranslators has the translator of each kind of code host.
func hostTranslators() map[code.HostKind]ingest.Open {
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

// newReceiver returns the webhook receiver. repositories is nil in a process
// without a catalog.
func newReceiver(o Options, log eventlog.Log, repositories webhook.Repositories, admit func(context.Context, code.Repository) error, full func() bool) (*webhook.Receiver, error) {
	connections, err := connectionsOf(o.Config)
	if err != nil {
		return nil, err
	}
	return webhook.New(webhook.Options{
		Kinds:       hostTranslators(),
		Connections: connections,
		Appender:    urgentLog{log},
		PartitionOf: func(ctx context.Context, key []byte) (int32, error) {
			n, err := log.Partitions(ctx, event.TopicEvents)
			if err != nil {
				return 0, err
			}
			return eventlog.PartitionOf(key, n), nil
		},
		Repositories:  repositories,
		Admit:         admit,
		Full:          full,
		MaxBodyBytes:  int64(o.Config.Ingest.MaxBodyBytes),
		AppendTimeout: o.Config.Ingest.AppendTimeout.Std(),
		Now:           boot.Now,
		Logger:        o.Logger,
		Registerer:    o.Registerer,
	})
}

// urgent is the log for webhooks, whose senders do not wait for long.
type urgentLog struct{ eventlog.Log }

// Append implements webhook.Appender.
func (u urgentLog) Append(ctx context.Context, topic event.Topic, partition int32, records ...event.Record) ([]event.Position, error) {
	return u.Log.Append(eventlog.Urgent(ctx), topic, partition, records...)
}

// connectionsOf resolves the secrets of the connections.
func connectionsOf(c *config.Config) ([]ingest.Connection, error) {
	var connections []ingest.Connection
	for _, from := range c.Connections {
		secrets := make([]string, len(from.Secrets))
		for i, s := range from.Secrets {
			var err error
			if secrets[i], err = s.Value(); err != nil {
				return nil, fmt.Errorf("connection %s: %w", from.Name, err)
			}
		}
		connections = append(connections, ingest.Connection{
			Name: from.Name, Kind: from.Kind, URL: from.URL, Secrets: secrets, AllowToken: from.AllowToken,
			AutoRegister: from.AutoRegister, Repositories: from.Repositories, Branches: from.Branches, Tags: from.Tags,
		})
	}
	return connections, nil
}

// connectionKinds returns what the API shows of the connections.
func connectionKinds(c *config.Config) map[string]code.HostKind {
	kinds := make(map[string]code.HostKind, len(c.Connections))
	for _, connection := range c.Connections {
		kinds[connection.Name] = connection.Kind
	}
	return kinds
}
