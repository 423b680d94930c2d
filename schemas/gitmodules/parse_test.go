package gitmodules

import (
	"bytes"
	"maps"
	"os/exec"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/code"
)

// gitModules returns what git reads from a .gitmodules file; false if git rejects it.
func gitModules(t *testing.T, text string) (map[string]string, bool) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "git", "config", "--no-includes", "-z", "--file", "-", "--list")
	c.Dir, c.Stdin = t.TempDir(), strings.NewReader(text)
	out, err := c.Output()
	if err != nil {
		return nil, false
	}
	paths, urls := map[string]string{}, map[string]string{}
	for record := range bytes.SplitSeq(out, []byte{0}) {
		key, value, _ := strings.Cut(string(record), "\n")
		name, isModule := strings.CutPrefix(key, "submodule.")
		at := strings.LastIndexByte(name, '.')
		if !isModule || at <= 0 {
			continue
		}
		switch name[at+1:] {
		case "path":
			paths[name[:at]] = strings.TrimSuffix(value, "/")
		case "url":
			urls[name[:at]] = value
		}
	}
	out2 := map[string]string{}
	for name, path := range paths {
		if url := urls[name]; path != "" && url != "" && path[0] != '-' && url[0] != '-' {
			out2[code.SpellPath(path)] = url
		}
	}
	return out2, true
}

// moduleFiles are files as people, and attackers, write them.
var moduleFiles = []string{
	"",
	"[submodule \"a\"]\n\tpath = lib/a\n\turl = https://git.example/a.git\n",
	"\ufeff[submodule \"a\"]\r\n\tpath = lib/a\r\n\turl = ../a.git\r\n[submodule \"b\"]\r\n\tpath=b/\r\n\turl=./b\r\n",
	"; c\n# c\n[SubModule \"Ä \\\"x\\\\\"]\n PATH = \"a b # c\" ; comment\n url = https://h/x\\\n/y.git # c\n update = !rm -rf /\n",
	"[submodule.lower]\npath = p\nurl = u\nurl = v\n",
	"[submodule \"a\"] path = p\nurl = \"quoted \\\"part\\\"\" and more   \n\n[core]\nfsmonitor = touch /tmp/x\n",
	"[include]\n\tpath = /etc/passwd\n[submodule \"a\"]\npath = p\nurl = /etc\n",
	"[submodule \"a\"]\npath = -u./payload\nurl = https://h/x\n[submodule \"b\"]\npath = q\nurl = -oProxyCommand=id\n",
	"[submodule \"a\"]\npath\nurl = x\n",
	"[submodule \"a\"\npath = p\n",
	"[submodule \"a\nb\"]\npath = p\n",
	"[submodule \"a\"]\npath = \"open\n",
	"[submodule \"a\"]\npath = \\q\n",
	"[submodule \"a\"]\npath = p\\",
	"path = p\n",
	"[]\npath = p\n",
	"[submodule]\npath = p\nurl = u\n",
	"[submodule \"a\"] 9path = p\n",
	"[submodule \"a\"]\npath = p\nurl = a b\t# c",
	"[submodule\t\"a\"]\npath = p\nurl = u",
	"not a configuration",
}

func TestModulesAsGitReadsThem(t *testing.T) {
	for _, text := range moduleFiles {
		want, readable := gitModules(t, text)
		got, err := Parse(text)
		if (err == nil) != readable || readable && !maps.Equal(got, want) {
			t.Errorf("%q: %q, %v; git reads %q, %t", text, got, err, want, readable)
		}
	}
}

// TestModulesAreBounded checks that a file with too many submodules yields none.
func TestModulesAreBounded(t *testing.T) {
	var text strings.Builder
	for i := range maxSubmodules + 1 {
		text.WriteString("[submodule \"" + strings.Repeat("a", i%700) + string(rune('a'+i/700)) + "\"]\npath=p\nurl=u\n")
	}
	if got, err := Parse(text.String()); err == nil {
		t.Errorf("%d submodules", len(got))
	}
}

func FuzzParseModules(f *testing.F) {
	for _, text := range moduleFiles {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		urls, err := Parse(text)
		if err != nil && urls != nil || len(urls) > maxSubmodules {
			t.Fatalf("%d URLs, %v", len(urls), err)
		}
		for path, url := range urls {
			if path == "" || url == "" || path[0] == '-' || url[0] == '-' {
				t.Fatalf("%q at %q", url, path)
			}
		}
	})
}
