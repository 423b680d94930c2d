package oidc

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/account"
)

// TestReadHostUser checks which values of the claim identify a user at a code host.
func TestReadHostUser(t *testing.T) {
	p := Provider{Name: "company", Issuer: "https://id.example.org", ClientID: "quarry", HostClaim: "github_id"}
	for value, want := range map[string]string{
		`"1042"`: "1042", `1042`: "1042", `""`: "", `null`: "", `-1`: "", `1.5`: "", `["1042"]`: "", `true`: "", `{"id": 1042}`: "",
		`"712020:ba8948b2-49da-43a9-9e8b-e7249b8e324a"`:      account.ShortenHostUser("712020:ba8948b2-49da-43a9-9e8b-e7249b8e324a"),
		`"` + strings.Repeat("1", maxHostClaimBytes+1) + `"`: "",
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

// TestVerifiedEmailOfSomebodyElse checks that no special letter turns the verified
// address of one person into that of another, or into one of an allowed domain.
func TestVerifiedEmailOfSomebodyElse(t *testing.T) {
	verified := boolean(true)
	p := Provider{Name: "company", Issuer: "https://id.example.org", ClientID: "quarry"}
	for said, want := range map[string]string{"Mike@Example.org": "mike@example.org", "mi\u212Ae@example.org": "", "m\u0130ke@example.org": ""} {
		if got, err := verifiedEmail(&p, &claims{Email: said, EmailVerified: &verified}); err != nil || got != want {
			t.Errorf("%+q: %q, %v; want %q", said, got, err, want)
		}
	}
	p.AllowedDomains = []string{"Books.example"}
	for said, allowed := range map[string]bool{"mike@books.example": true, "mike@boo\u212As.example": false, "mike@book\u017F.example": false} {
		if got, err := verifiedEmail(&p, &claims{Email: said, EmailVerified: &verified}); (err == nil) != allowed {
			t.Errorf("%+q: %q, %v; allowed is %v", said, got, err, allowed)
		}
	}
}
