#!/usr/bin/env node
'use strict';

// The command: the binary with the arguments, streams, signals and exit code of this process.
const { spawn } = require('node:child_process');
const { binaryPath } = require('../binary.js');

let binary;
try {
  binary = binaryPath();
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
const child = spawn(binary, process.argv.slice(2), { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  // A terminal sends Ctrl+C to both; this process waits for what the server makes of it.
  process.on(signal, () => signal === 'SIGINT' || child.kill(signal));
}
child.on('error', (error) => {
  console.error(`mayfly: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  } else {
    process.exit(code);
  }
});
