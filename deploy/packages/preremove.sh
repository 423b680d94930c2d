#!/bin/sh
# Stops the service before its program is removed. dpkg passes "remove", rpm the number of
# versions that stay; an upgrade goes on with the service running.
set -e
case ${1:-} in
remove | 0)
	if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
		systemctl disable --now quarry.service
	fi
	;;
esac
