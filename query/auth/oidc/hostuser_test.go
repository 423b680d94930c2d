package oidc

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/account"
)

// TestReadHostUser shows which values of the claim say who somebody is at a code host.
func TestReadHostUser(t *testing.T) {
	p := Provider{Name: "company", Issuer: "https://id.example.org", ClientID: "quarry", HostClaim: "github_id"}
	for value, want := range map[string]string{
		`"1042"`: "1042", `1042`: "1042", `""`: "", `null`: "", `-1`: "", `1.5`: "", `["1042"]`: "", `true`: "", `{"id": 1042}`: "",
		`"` + strings.Repeat("1", maxHostUserBytes+1) + `"`: "",
	} {
		wanted := account.Identity{}
		if want != "" {
			wanted = account.Identity{Issuer: "https://id.example.org#github_id", Subject: want}
		}
		if got := readHostUser(&p, map[string]json.RawMessage{"github_id": json.RawMessage(value)}); got != wanted {
			t.Errorf("%s: %+v, want %+v", value, got, wanted)
		}
	}
	if got := readHostUser(&p, map[string]json.RawMessage{"sub": json.RawMessage(`"1042"`)}); got != (account.Identity{}) {
		t.Errorf("without the claim: %+v", got)
	}
	if HostIssuer(p.Issuer, "") != p.Issuer {
		t.Error("the host itself is the provider, and its issuer is another")
	}
	p.HostClaim = "github id"
	if p.Validate() == nil {
		t.Error("a claim with a space is valid")
	}
}
