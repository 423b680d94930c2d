package mirror

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/quarrysearch/quarry/schemas/failure"
)

// TestGitErrors maps verbatim messages of git and its helpers.
func TestGitErrors(t *testing.T) {
	for _, test := range []struct {
		said string
		want error
	}{
		{"ssh: connect to host git.example.org port 22: Connection refused\nfatal: Could not read from remote repository.\n", ErrUnreachable},
		{"kex_exchange_identification: Connection closed by remote host\nfatal: Could not read from remote repository.\n", ErrUnreachable},
		{"something that ssh never said before\nfatal: Could not read from remote repository.\n", ErrUnreachable},
		{"git@github.com: Permission denied (publickey).\nfatal: Could not read from remote repository.\n", ErrUnauthorized},
		{"ERROR: Repository not found.\nfatal: Could not read from remote repository.\n", ErrVanished},
		{"remote: Repository not found.\nfatal: repository 'https://github.com/a/b/' not found\n", ErrVanished},
		{"fatal: '/srv/x' does not appear to be a git repository\nfatal: Could not read from remote repository.\n", ErrVanished},
		{"fatal: unable to access 'https://h/': The requested URL returned error: 503\n", ErrUnreachable},
		{"fatal: unable to access 'https://h/': The requested URL returned error: 429\n", ErrUnreachable},
		{"fatal: unable to access 'https://h/': The requested URL returned error: 403\n", ErrUnauthorized},
		{"fatal: unable to access 'https://h/': Operation too slow. Less than 1000 bytes/sec transferred the last 60 seconds\n", ErrUnreachable},
		{"fatal: unable to access 'https://h/': Could not resolve host: h\n", ErrUnreachable},
		{"error: Could not read 0123456789abcdef0123456789abcdef01234567\n", ErrMissing},
		{"fatal: cannot update ref 'refs/heads/main': couldn't write '/m/git/refs/heads/main.lock'\n", ErrDiskFull}, // found by the chaos suite
		{"fatal: something new\n", ErrGit},
		{"fatal: write error: No space left on device\n", ErrDiskFull},
		// A host that claims a full disk must not stop the work for all repositories.
		{"remote: No space left on device\nfatal: unable to access 'https://h/': The requested URL returned error: 500\n", ErrUnreachable},
		{"fatal: remote error: Disk quota exceeded\n", ErrGit},
		{"fatal: command line, '\\(No space left on device': Unmatched ( or \\(\n", ErrPattern},
		{"fatal: header, '[': Unmatched [\n", ErrPattern},
		{"remote: fatal: command line, 'x': y\nfatal: early EOF\n", ErrGit},
		{"fatal: command line, '\n", ErrPattern},
	} {
		if err := gitError("fetch", test.said, errors.New("exit status 128")); !errors.Is(err, test.want) {
			t.Errorf("%q: %v, want %v", test.said, err, test.want)
		}
	}
}

// TestMissingObject parses verbatim messages of git about objects that it cannot read.
func TestMissingObject(t *testing.T) {
	const one, two = "801da61094d94beb2712df2087d63d98ba72111f", "fbbafbfdaadbff9c7f8db580f91a8ab5a0653704"
	const long = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	for said, want := range map[string]string{
		"fatal: bad object " + one + "\n":                                                                              one,
		"fatal: bad tree object " + one + "\n":                                                                         one,
		"fatal: unable to read " + one + "\n":                                                                          one,
		"fatal: unable to read tree " + long + "\n":                                                                    long,
		"fatal: unable to read tree (" + one + ")\n":                                                                   one,
		"fatal: unable to read blob object " + one + "\n":                                                              one,
		"fatal: Cannot read blob " + one + " for path " + two + ".txt\n":                                               one,
		"error: Could not read " + one + "\nfatal: Failed to traverse parents of commit " + two + "\n":                 one,
		"fatal: Not a valid commit name " + one + "\n":                                                                 one,
		"error: corrupt loose object '" + one + "'\n":                                                                  one,
		"fatal: loose object " + one + " (stored in ./objects/80/1da61094d94beb2712df2087d63d98ba72111f) is corrupt\n": one,
		"fatal: packed object " + one + " (stored in ./objects/pack/pack-1.pack) is corrupt\n":                         one,
		"error: header for " + one + " too long, exceeds 32 bytes\n":                                                   one,
		"fatal: missing blob object '" + one + "'\n":                                                                   one,
		"fatal: not a tree object\n":                                                                                   "",
		"fatal: bad object HEAD\n":                                                                                     "",
		"fatal: unable to read " + one + "ff\n":                                                                        "",
		"fatal: no such path " + one + " in HEAD\n":                                                                    "",
	} {
		if got := missingObject(said); got != want {
			t.Errorf("%q names object %q, want %q", said, got, want)
		}
	}
}

// TestGitErrorsHoldNoCredential makes git print what a hostile repository could make it
// print.
func TestGitErrorsHoldNoCredential(t *testing.T) {
	const secret = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	for _, said := range []string{
		"fatal: bad packed line: qx_" + secret + "\n",
		"fatal: invalid gitfile format: " + secret + "\n",
		"fatal: unable to access 'https://u:" + secret[:12] + "@h/x'\n",
		"error: bad config\nPRIVATE-TOKEN: " + secret[:14] + "\n",
		"-----BEGIN PRIVATE KEY-----\nMIIE\n" + secret[:12] + "=\n-----END PRIVATE KEY-----\nfatal: a\nfatal: b\n",
		"-----BEGIN PRIVATE KEY-----\n" + strings.Repeat(secret[:12]+"\n", 5), // only the last lines are kept
	} {
		if text := gitError("fetch", said, errors.New("exit status 128")).Error(); strings.Contains(text, secret[:12]) {
			t.Errorf("%q: %s", said, text)
		}
	}
	// The beginning that identifies the credential is cut off.
	b := tailBuffer{limit: 64}
	fmt.Fprintf(&b, "fatal: qx_%s\nfatal: end\n", secret)
	if b.wholeLines() != "fatal: end\n" {
		t.Errorf("kept %q", b.wholeLines())
	}
	if text := gitError("fetch", strings.Repeat("x y ", 9999)+"\x1b[2J", errors.New("exit")).Error(); len(text) > failure.MaxDetailBytes+100 || strings.Contains(text, "\x1b") {
		t.Errorf("%d bytes", len(text))
	}
}
