#!/bin/sh
# Creates the user. The service is not started before somebody has chosen its settings:
# systemctl enable --now quarry. After an upgrade, a running service is restarted.
set -e
root=${DPKG_ROOT:-}
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers ${root:+--root="$root"} quarry.conf
elif [ -z "$root" ] && ! getent passwd quarry >/dev/null; then
	useradd --system --home-dir /var/lib/quarry --no-create-home --shell /usr/sbin/nologin quarry
fi
if [ -z "$root" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart quarry.service
fi
