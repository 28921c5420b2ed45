'use strict';

// The package as its users have it: run from a folder where it is installed.
const assert = require('node:assert/strict');
const { execFileSync, spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const test = require('node:test');
const { start } = require('mayfly');

/** Asks Cosmos DB's API with the key as a bearer token. */
async function cosmos(mayfly, method, path, body, headers = {}) {
  const response = await fetch(new URL(path, mayfly.endpoint), {
    method,
    headers: { Authorization: `Bearer ${mayfly.key}`, 'Content-Type': 'application/json', ...headers },
    body: body && JSON.stringify(body),
  });
  await response.arrayBuffer();
  return response.status;
}

test('a document lives for as long as it is to, and no time passes here', async () => {
  const mayfly = await start({ memory: true, virtualClock: true });
  try {
    assert.match(mayfly.connectionString, /^AccountEndpoint=http:\/\/localhost:\d+\/;AccountKey=.+;$/);
    assert.equal(await cosmos(mayfly, 'POST', 'dbs', { id: 'app' }), 201);
    const container = { id: 's', partitionKey: { paths: ['/user'], kind: 'Hash' }, defaultTtl: -1 };
    assert.equal(await cosmos(mayfly, 'POST', 'dbs/app/colls', container), 201);
    const key = { 'x-ms-documentdb-partitionkey': '["ada"]' };
    const session = { id: '1', user: 'ada', ttl: 1800 };
    assert.equal(await cosmos(mayfly, 'POST', 'dbs/app/colls/s/docs', session, key), 201);
    await mayfly.advance(1799);
    assert.equal(await cosmos(mayfly, 'GET', 'dbs/app/colls/s/docs/1', undefined, key), 200);
    await mayfly.advance(1);
    assert.equal(await cosmos(mayfly, 'GET', 'dbs/app/colls/s/docs/1', undefined, key), 404);
  } finally {
    await mayfly.stop();
    await mayfly.stop();
  }
  await assert.rejects(fetch(mayfly.endpoint));
});

test('Service Bus and a key of one\'s own', async () => {
  const key = Buffer.from('a key of one\'s own').toString('base64');
  const mayfly = await start({ servicebus: true, key });
  try {
    assert.match(mayfly.serviceBusConnectionString, /^Endpoint=sb:\/\/localhost:\d+;.*UseDevelopmentEmulator=true;$/);
    assert.match(mayfly.serviceBusAdministrationConnectionString, /^Endpoint=sb:/);
    assert.equal(await cosmos(mayfly, 'GET', 'dbs'), 200);
    assert.equal(await cosmos({ ...mayfly, endpoint: mayfly.endpoint, key: 'x' }, 'GET', 'dbs'), 401);
  } finally {
    await mayfly.stop();
  }
});

test('a start that fails says why', async () => {
  await assert.rejects(start({ args: ['--no-such-flag'] }), /ended with 2: mayfly: .*no-such-flag/);
  await assert.rejects(start({ data: '/dev/null/no' }), /data folder/);
});

test('the command is the binary', async () => {
  const launcher = require.resolve('mayfly/bin/mayfly.js');
  assert.match(execFileSync(process.execPath, [launcher, 'version'], { encoding: 'utf8' }), /^mayfly 0\.0\.1-test /);
  assert.equal(spawnSync(process.execPath, [launcher, 'nonsense']).status, 2);
  const server = spawn(process.execPath, [launcher, 'serve', '--memory', '--port', '0'], { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(server.stdout, 'data');
  server.kill('SIGTERM');
  assert.deepEqual(await once(server, 'exit'), [0, null]);
});
