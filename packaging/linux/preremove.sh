#!/bin/sh
# Before the package goes the service ends; an upgrade (deb: "upgrade", rpm: 1) is no removal.
set -e
if [ -d /run/systemd/system ] && { [ "$1" = remove ] || [ "$1" = 0 ]; }; then
  systemctl disable --now mayfly.service
fi
