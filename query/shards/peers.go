package shards

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quarrysearch/quarry/schemas/sharding"
)

// maxReplicas bounds the replicas of a share.
const maxReplicas = 16

// PeerAddress is a shard in the settings.
type PeerAddress struct {
	Address string
	Share   sharding.Share
}

// ParsePeers parses the addresses of shards: HOST:PORT for each share in order, or
// SHARE@HOST:PORT for all of them. Peers with the same share are replicas.
func ParsePeers(texts []string) ([]PeerAddress, error) {
	peers := make([]PeerAddress, len(texts))
	for i, text := range texts {
		share, address, named := strings.Cut(text, "@")
		if !named {
			share, address = fmt.Sprintf("%d/%d", i, len(texts)), text
		}
		if named != strings.Contains(texts[0], "@") {
			return nil, fmt.Errorf("%w: %.80q: give the share of all peers, or of none", sharding.ErrShare, text)
		}
		var err error
		if peers[i].Share, err = sharding.ParseShare(share, ""); err != nil {
			return nil, err
		}
		peers[i].Address = address
	}
	return peers, nil
}

// CheckPeers returns sharding.ErrShare if the shares of peers form no layout of the partitions of a
// log, or have an address twice.
func CheckPeers(peers []PeerAddress, partitions int32) error {
	_, _, err := groupPeers(peers, partitions)
	return err
}

// groupPeers returns the shares of a log with some partitions, each with its replicas: the
// peers with the same partitions; and the layouts that they form. It returns sharding.ErrShare
// if there is none, or a share in none.
func groupPeers(peers []PeerAddress, partitions int32) (shares []*share, layouts []layout, err error) {
	var names []string
	var owners []sharding.Share
	for _, p := range peers {
		owned, _ := p.Share.Partitions(partitions) // CheckShares returns the error
		i := slices.IndexFunc(shares, func(s *share) bool { return len(owned) > 0 && slices.Equal(s.owned, owned) })
		if i < 0 {
			i = len(shares)
			shares = append(shares, &share{name: p.Share.String(), owned: owned, probed: make(chan struct{})})
			names, owners = append(names, p.Address), append(owners, p.Share)
		} else {
			names[i] += " and " + p.Address
		}
		if s := shares[i]; slices.Contains(s.addresses, p.Address) || len(s.addresses) == maxReplicas {
			return nil, nil, fmt.Errorf("%w: %s twice in the share %s, or more than %d replicas", sharding.ErrShare, p.Address, s.name, maxReplicas)
		}
		shares[i].addresses = append(shares[i].addresses, p.Address)
	}
	for i, s := range owners {
		if _, err := s.Partitions(partitions); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", names[i], err)
		}
	}
	for p := range partitions {
		if !slices.ContainsFunc(shares, func(s *share) bool { return slices.Contains(s.owned, p) }) {
			return nil, nil, fmt.Errorf("%w: partition %d has no owner", sharding.ErrShare, p)
		}
	}
	if layouts, err = findLayouts(shares, partitions); err != nil {
		return nil, nil, err
	}
	for i, s := range shares {
		if !slices.ContainsFunc(layouts, func(l layout) bool { return slices.Contains(l, s) }) {
			err := sharding.CheckShares(partitions, names, owners)
			return nil, nil, fmt.Errorf("%s: no other shares complete the share %s: %w", names[i], s.name, err)
		}
	}
	return shares, layouts, nil
}
