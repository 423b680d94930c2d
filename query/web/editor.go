package web

import (
	"html/template"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// editorCookie stores the editor in which a reader opens files, and where their clones
// are. It is a cookie for the same reason as preferencesCookie.
const editorCookie = "quarry_editor"

// editor is a program that opens a file from a URL.
type editor struct{ Key, Title, Template string }

// editors are the known editors. {file} is the path of the file on the reader's machine,
// {path} the path in the repository, and {name} the last element of the repository's
// name.
var editors = []editor{
	{"vscode", "VS Code", "vscode://file/{file}:{line}"},
	{"vscodium", "VSCodium", "vscodium://file/{file}:{line}"},
	{"cursor", "Cursor", "cursor://file/{file}:{line}"},
	{"zed", "Zed", "zed://file/{file}:{line}"},
	{"idea", "IntelliJ IDEA", "jetbrains://idea/navigate/reference?project={name}&path={path}:{line}"},
	{"goland", "GoLand", "jetbrains://goland/navigate/reference?project={name}&path={path}:{line}"},
	{"pycharm", "PyCharm", "jetbrains://pycharm/navigate/reference?project={name}&path={path}:{line}"},
	{"webstorm", "WebStorm", "jetbrains://web-storm/navigate/reference?project={name}&path={path}:{line}"},
	{"vim", "Vim (MacVim)", "mvim://open?url=file:///{file}&line={line}"},
	{"emacs", "Emacs", "org-protocol://open-file?url={file}&line={line}"},
	{"other", "Another", ""},
}

// editorSchemes are the schemes allowed in a reader's template: none of them runs
// anything in a browser.
var editorSchemes = []string{"vscode", "vscode-insiders", "vscodium", "cursor", "windsurf", "zed", "jetbrains", "idea", "mvim", "nvim", "vim", "emacs", "org-protocol", "subl", "txmt", "atom", "x-mine", "helix"}

// Bounds of the cookie's content.
const (
	maxEditorRoot     = 400
	maxEditorTemplate = 400
)

// editorChoice is a reader's choice.
type editorChoice struct{ Key, Root, Template string }

func readEditor(r *http.Request) editorChoice {
	c, err := r.Cookie(editorCookie)
	if err != nil {
		return editorChoice{}
	}
	values, err := url.ParseQuery(c.Value)
	if err != nil {
		return editorChoice{}
	}
	choice := editorChoice{values.Get("editor"), values.Get("root"), values.Get("template")}
	if choice.check() != "" {
		return editorChoice{}
	}
	return choice
}

// check returns the key of the text that explains an error; empty if there is none.
func (c editorChoice) check() string {
	known := slices.IndexFunc(editors, func(e editor) bool { return e.Key == c.Key })
	switch {
	case c.Key == "":
		return ""
	case known < 0:
		return "unknown"
	case len(c.Root) > maxEditorRoot || strings.ContainsFunc(c.Root, isControl):
		return "root"
	case c.Key == "other" && !isEditorTemplate(c.Template):
		return "template"
	}
	return ""
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// isEditorTemplate reports whether a reader's template has the scheme of an editor.
func isEditorTemplate(template string) bool {
	scheme, _, ok := strings.Cut(template, ":")
	return ok && len(template) <= maxEditorTemplate && slices.Contains(editorSchemes, scheme) && !strings.ContainsFunc(template, isControl)
}

// editorURL returns the URL that opens a file in the reader's editor; empty if none was
// chosen.
func (s *Server) editorURL(r *http.Request, p *codePage, line int) string {
	choice := readEditor(r)
	if choice.Key == "" {
		return ""
	}
	template := choice.Template
	if i := slices.IndexFunc(editors, func(e editor) bool { return e.Key == choice.Key }); editors[i].Template != "" {
		template = editors[i].Template
	}
	name := path.Base(p.Repository)
	root := strings.ReplaceAll(choice.Root, "{name}", name)
	if root == choice.Root {
		root = strings.TrimRight(root, "/") + "/" + name
	}
	escape := func(s string) string {
		return strings.ReplaceAll((&url.URL{Path: s}).EscapedPath(), "&", "%26")
	}
	file := strings.TrimLeft(strings.ReplaceAll(root, `\`, "/")+"/"+p.Path, "/")
	return strings.NewReplacer(
		"{file}", escape(file), "{path}", escape(p.Path), "{name}", escape(name), "{repository}", escape(p.Repository), "{line}", strconv.Itoa(max(line, 1)),
	).Replace(template)
}

// editorForm is the data of the page on which an editor is chosen.
type editorForm struct {
	Editors []editor
	Choice  editorChoice
	Return  string
	Wrong   string
}

// editorPage shows the chosen editor. It requires no account.
func (s *Server) editorPage(w http.ResponseWriter, v *pageRequest) error {
	return s.renderPage(w, v, view{template: "editor", title: s.texts.mustFormat("editorTitle"), data: editorForm{
		Editors: editors, Choice: readEditor(v.r), Return: returnPath(v.r.URL.Query().Get("return")),
	}})
}

// saveEditor stores the choice in the browser and redirects back.
func (s *Server) saveEditor(w http.ResponseWriter, v *pageRequest) error {
	f, err := s.readForm(w, v)
	if err != nil {
		return err
	}
	choice := editorChoice{f.Get("editor"), f.Get("root"), f.Get("template")}
	back := returnPath(f.Get("return"))
	if wrong := choice.check(); wrong != "" {
		return s.renderPage(w, v, view{template: "editor", title: s.texts.mustFormat("editorTitle"), status: http.StatusUnprocessableEntity, data: editorForm{
			Editors: editors, Choice: choice, Return: back, Wrong: s.texts.mustFormat("editorWrong_" + wrong),
		}})
	}
	values := url.Values{}
	for name, value := range map[string]string{"editor": choice.Key, "root": choice.Root, "template": choice.Template} {
		if value != "" {
			values.Set(name, value)
		}
	}
	const year = 365 * 24 * 60 * 60
	http.SetCookie(w, &http.Cookie{
		Name: editorCookie, Value: values.Encode(), Path: s.public.CookiePath(), MaxAge: year, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.public.IsSecure(),
	})
	seeOther(w, v, back)
	return nil
}

// trustEditorURL allows a result of editorURL as a link: templates would refuse its
// scheme, which is that of an editor.
func trustEditorURL(address string) template.URL {
	if scheme, _, ok := strings.Cut(address, ":"); !ok || !slices.Contains(editorSchemes, scheme) {
		return ""
	}
	return template.URL(address)
}
