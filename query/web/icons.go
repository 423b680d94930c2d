package web

import (
	"fmt"
	"html/template"
)

// iconSprite has the icons that scripts/icons.txt names, as symbols; `make generate`
// makes it.
const iconSprite = "icons.svg"

// renderIcon returns an icon of the sprite, for templates. It is decoration: the text
// next to it, or a label, says the same.
func (a *assets) renderIcon(name string) (template.HTML, error) {
	u, err := a.assetURL(iconSprite)
	if err != nil {
		return "", err
	}
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && c != '-' && (c < '0' || c > '9') {
			return "", fmt.Errorf("web: no icon %q", name)
		}
	}
	return template.HTML(`<svg class="icon" aria-hidden="true"><use href="` + u + "#" + name + `"/></svg>`), nil
}
