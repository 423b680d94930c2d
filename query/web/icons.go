package web

import (
	"fmt"
	"html/template"

	"github.com/quarrysearch/quarry/query/publicurl"
)

// iconSprite contains the icons in scripts/icons.txt as symbols; `make generate` builds
// it.
const iconSprite = "icons.svg"

// renderIcon returns an icon of the sprite, for templates. It is decorative: the adjacent
// text, or a label, has the same meaning.
func (a *assets) renderIcon(public publicurl.URL, name string) (template.HTML, error) {
	u, err := a.assetURL(iconSprite)
	if err != nil {
		return "", err
	}
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && c != '-' && (c < '0' || c > '9') {
			return "", fmt.Errorf("web: no icon %q", name)
		}
	}
	return template.HTML(`<svg class="icon" aria-hidden="true"><use href="` + public.Resolve(u) + "#" + name + `"/></svg>`), nil
}
