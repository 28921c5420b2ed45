'use strict';

/**
 * The path of Mayfly's binary: what MAYFLY_BINARY names, else that of the package for this platform, which npm has
 * installed beside this one.
 */
function binaryPath() {
  if (process.env.MAYFLY_BINARY) return process.env.MAYFLY_BINARY;
  const platform = `${process.platform}-${process.arch}`;
  const file = process.platform === 'win32' ? 'mayfly.exe' : 'mayfly';
  try {
    return require.resolve(`@mayflydb/${platform}/bin/${file}`);
  } catch (cause) {
    throw new Error(
      `mayfly: there is no package @mayflydb/${platform}. Either optional dependencies were left out ` +
        '(npm install --include=optional brings them), or there is no binary for this platform: ' +
        'build one and let MAYFLY_BINARY name it.',
      { cause },
    );
  }
}

module.exports = { binaryPath };
