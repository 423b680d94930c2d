package mirror

import (
	"errors"
	"testing"
)

// TestGitErrors maps what git and its helpers say, as they say it.
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
	} {
		if err := gitError("fetch", test.said, errors.New("exit status 128")); !errors.Is(err, test.want) {
			t.Errorf("%q: %v, want %v", test.said, err, test.want)
		}
	}
}
