package mirror

import (
	"net"
	"strings"
)

// pinnedEnvironment makes git connect to the addresses that were checked, so that the
// name cannot resolve to a different address between our check and the connection.
// curlResolveEntry pins an http(s) host.
func (s source) pinnedEnvironment(sshCommand string) []string {
	switch s.scheme {
	case "ssh":
		return []string{"GIT_SSH_COMMAND=" + sshCommand + s.sshOptions()}
	case "git":
		// url contains the address, so the daemon gets the host name from this variable.
		return []string{"GIT_OVERRIDE_VIRTUAL_HOST=" + net.JoinHostPort(s.host, s.port)}
	}
	return nil
}

// curlResolveEntry returns HOST:PORT:ADDRESS[,ADDRESS], which keeps curl from resolving
// the name.
func (s source) curlResolveEntry() string {
	addrs := make([]string, len(s.addrs))
	for i, a := range s.addrs {
		addrs[i] = a.String()
		if a.Is6() {
			addrs[i] = "[" + addrs[i] + "]"
		}
	}
	return s.host + ":" + s.port + ":" + strings.Join(addrs, ",")
}

// sshOptions makes ssh connect to an address, and look up its key by the name and port in
// the clone URL.
func (s source) sshOptions() string {
	alias := s.host
	if s.port != "22" {
		alias = "[" + s.host + "]:" + s.port // the form used in known_hosts
	}
	options := s.access.sshKeyOptions()
	return options + " -oHostName=" + s.addrs[0].String() + " " + quoteShell("-oHostKeyAlias="+alias) + " -oCheckHostIP=no"
}

// quoteShell quotes a word for the shell that runs GIT_SSH_COMMAND.
func quoteShell(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// addressURL returns a URL of the git protocol with an address in place of the host name.
func (s source) addressURL() string {
	_, rest, _ := strings.Cut(s.url, "://")
	_, path, _ := strings.Cut(rest, "/")
	return "git://" + net.JoinHostPort(s.addrs[0].String(), s.port) + "/" + path
}

// sshKeyOptions makes ssh use only the key and the known hosts of the connection, and
// nothing of the user that runs the process.
func (a Access) sshKeyOptions() string {
	var options string
	if a.SSHKeyFile != "" {
		options += " -F none -oIdentitiesOnly=yes -oIdentityAgent=none -oPreferredAuthentications=publickey " + quoteShell(`-oIdentityFile="`+a.SSHKeyFile+`"`)
	}
	if a.KnownHostsFile != "" {
		options += " -oGlobalKnownHostsFile=none " + quoteShell(`-oUserKnownHostsFile="`+a.KnownHostsFile+`"`)
	}
	return options
}
