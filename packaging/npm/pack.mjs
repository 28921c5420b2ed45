// Makes the npm packages: one for each platform, with its binary, and `mayfly`, which has them as optional
// dependencies.
//
//   node pack.mjs OUT                                      from dist/, where goreleaser leaves its binaries
//   node pack.mjs OUT VERSION linux/amd64=PATH [...]       from binaries
//
// What is in OUT is published by `npm publish FILE --access public`, mayfly last.
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, '../..');
const osOf = { linux: 'linux', darwin: 'darwin', windows: 'win32' };
const cpuOf = { amd64: 'x64', arm64: 'arm64' };
const readJSON = (path) => JSON.parse(readFileSync(path, 'utf8'));

/** The version, and the binaries as [goos, goarch, path]. */
function sources(args) {
  if (args.length > 0) {
    return [args[0], args.slice(1).map((arg) => {
      const [platform, path] = arg.split('=');
      return [...platform.split('/'), path];
    })];
  }
  const dist = join(root, 'dist');
  return [
    readJSON(join(dist, 'metadata.json')).version,
    readJSON(join(dist, 'artifacts.json'))
      .filter((a) => a.type === 'Binary')
      .map((a) => [a.goos, a.goarch, join(root, a.path)]),
  ];
}

function packInto(out, folder, manifest) {
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest, null, 2) + '\n');
  copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  execFileSync('npm', ['pack', '--silent', '--pack-destination', out], { cwd: folder, shell: process.platform === 'win32' });
}

const [, , target, ...rest] = process.argv;
if (!target) throw new Error('usage: node pack.mjs OUT [VERSION GOOS/GOARCH=PATH...]');
const out = resolve(target);
const [version, binaries] = sources(rest);
if (binaries.length === 0) throw new Error('there is no binary to pack');
const main = readJSON(join(here, 'mayfly/package.json'));
const { license, homepage, repository } = main;
const work = mkdtempSync(join(tmpdir(), 'mayfly-npm-'));
try {
  mkdirSync(out, { recursive: true });
  const optional = {};
  for (const [goos, goarch, path] of binaries) {
    const [os, cpu] = [osOf[goos], cpuOf[goarch]];
    const folder = join(work, `${os}-${cpu}`);
    const file = os === 'win32' ? 'mayfly.exe' : 'mayfly';
    mkdirSync(join(folder, 'bin'), { recursive: true });
    copyFileSync(path, join(folder, 'bin', file));
    chmodSync(join(folder, 'bin', file), 0o755);
    const name = `@mayflydb/${os}-${cpu}`;
    packInto(out, folder, {
      name, version, license, homepage, repository,
      description: `The binary of mayfly for ${os} on ${cpu}`,
      os: [os], cpu: [cpu], files: ['bin'], preferUnplugged: true,
    });
    optional[name] = version;
  }
  const folder = join(work, 'mayfly');
  cpSync(join(here, 'mayfly'), folder, { recursive: true });
  packInto(out, folder, { ...main, version, optionalDependencies: optional });
} finally {
  rmSync(work, { recursive: true });
}
