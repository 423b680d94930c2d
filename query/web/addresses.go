package web

import (
	"html/template"
	"regexp"
	"strings"
	"text/template/parse"

	"github.com/quarrysearch/quarry/query/publicurl"
)

// Handlers and templates write the addresses of this server as at the root of a host. If
// people reach it below a path (publicurl), resolveAddresses changes the templates, so that
// no page has to know the path. Markup that is written without a template calls
// Server.public itself.

// addressAttribute matches the attributes that browsers and scripts follow.
const addressAttribute = `\s(?:href|action|src|formaction)="`

var (
	// writtenAddress matches an address of this server in the text of a template.
	writtenAddress = regexp.MustCompile("(" + addressAttribute + `)(/(?:[^/]|$))`)
	// openAddress matches the end of a text that is followed by an address.
	openAddress = regexp.MustCompile(addressAttribute + "$")
)

// resolveAddresses makes the addresses in a template and those that it includes lead below
// the path of the public URL.
func resolveAddresses(t *template.Template, public publicurl.URL) {
	if public.Path() == "" {
		return
	}
	for _, one := range t.Templates() {
		if one.Tree != nil {
			resolveList(one.Tree.Root, public, false)
		}
	}
}

// resolveList resolves the addresses in a list of nodes. inAddress is whether the list
// begins where an address does.
func resolveList(list *parse.ListNode, public publicurl.URL, inAddress bool) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		begins := inAddress
		inAddress = false
		switch n := node.(type) {
		case *parse.TextNode:
			text := string(n.Text)
			if begins && strings.HasPrefix(text, "/") {
				text = public.Path() + text
			}
			text = writtenAddress.ReplaceAllString(text, "${1}"+public.Path()+"${2}")
			n.Text, inAddress = []byte(text), openAddress.MatchString(text)
		case *parse.ActionNode:
			if begins {
				call := parse.NewIdentifier("resolve").SetPos(n.Pos)
				n.Pipe.Cmds = append(n.Pipe.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pos, Args: []parse.Node{call}})
			}
		case *parse.IfNode:
			resolveList(n.List, public, begins)
			resolveList(n.ElseList, public, begins)
		case *parse.WithNode:
			resolveList(n.List, public, begins)
			resolveList(n.ElseList, public, begins)
		case *parse.RangeNode:
			resolveList(n.List, public, begins)
			resolveList(n.ElseList, public, begins)
		}
	}
}

// resolveAny returns the function "resolve" of templates. Values of other types, such as
// the address of an editor, lead elsewhere.
func resolveAny(public publicurl.URL) func(any) any {
	return func(address any) any {
		if address, ok := address.(string); ok {
			return public.Resolve(address)
		}
		return address
	}
}
