#!/bin/sh
# The data in /var/lib/mayfly stay: they are the user's.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
