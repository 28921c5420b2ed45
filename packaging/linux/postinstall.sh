#!/bin/sh
# After an installation the service waits for whoever starts it; after an upgrade one that runs is the new one.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl try-restart mayfly.service
fi
