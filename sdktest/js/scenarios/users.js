// Users, permissions, resource tokens and client encryption.
import assert from "node:assert/strict";
import { EncryptionAlgorithm, EncryptionKeyResolverName, EncryptionType, KeyEncryptionAlgorithm, PermissionMode } from "@azure/cosmos";
import { KEY, fails, ids, inKey, rows, user, wantIds } from "../lib.js";

// tokenClient is the container "c" as somebody sees it who has nothing but a permission on it.
async function tokenClient(t, permissionMode, more = {}) {
  const db = await t.database();
  const { user: somebody } = await db.users.create({ id: "somebody" });
  const { resource } = await somebody.permissions.create({ id: "p", permissionMode, resource: db.container("c").url, ...more });
  return t.connect({ resourceTokens: { [db.container("c").url]: resource._token } }).database(t.name).container("c");
}

// resolver wraps keys as a key vault would, without one.
const resolver = {
  encryptionKeyResolverName: EncryptionKeyResolverName.AzureKeyVault,
  wrapKey: async (id, algorithm, key) => Uint8Array.from(key, (b) => b ^ 0x5a),
  unwrapKey: async (id, algorithm, key) => Uint8Array.from(key, (b) => b ^ 0x5a),
};
const wrapping = (value) => ({ type: EncryptionKeyResolverName.AzureKeyVault, name: "master", value, algorithm: KeyEncryptionAlgorithm.RSA_OAEP });
const encrypting = (t) => t.connect({ key: KEY, clientEncryptionOptions: { keyEncryptionKeyResolver: resolver } });

const encryptedPath = (path, encryptionType, clientEncryptionKeyId = "key") => ({
  path,
  clientEncryptionKeyId,
  encryptionType,
  encryptionAlgorithm: EncryptionAlgorithm.AEAD_AES_256_CBC_HMAC_SHA256,
});

export const scenarios = {
  "user-lifecycle": async (t) => {
    const db = await t.database();
    const { user: ada, statusCode } = await db.users.create({ id: "ada" });
    assert.equal(statusCode, 201);
    await fails(409, db.users.create({ id: "ada" }));
    assert.equal((await ada.read()).resource.id, "ada");
    assert.equal((await db.users.upsert({ id: "bob" })).statusCode, 201);
    assert.equal((await db.users.upsert({ id: "bob" })).statusCode, 200);
    wantIds((await db.users.readAll().fetchAll()).resources, ["ada", "bob"]);
    const q = { query: "SELECT * FROM u WHERE u.id = @id", parameters: [{ name: "@id", value: "bob" }] };
    assert.deepEqual(ids((await db.users.query(q).fetchAll()).resources), ["bob"]);
    assert.equal((await ada.replace({ id: "eve" })).statusCode, 200);
    await fails(404, ada.read());
    assert.equal((await db.user("eve").delete()).statusCode, 204);
    wantIds((await db.users.readAll().fetchAll()).resources, ["bob"]);
  },

  "permission-lifecycle": async (t) => {
    const c = await t.container();
    const { user: ada } = await (await t.database()).users.create({ id: "ada" });
    const body = { id: "p", permissionMode: PermissionMode.Read, resource: c.url };
    const { permission, resource, statusCode } = await ada.permissions.create(body);
    assert.equal(statusCode, 201);
    assert.match(resource._token, /^type(=|%3d)resource/i);
    await fails(409, ada.permissions.create(body));
    assert.equal((await permission.read()).resource.permissionMode, PermissionMode.Read);
    assert.deepEqual(ids((await ada.permissions.readAll().fetchAll()).resources), ["p"]);
    const replaced = await permission.replace({ ...body, permissionMode: PermissionMode.All });
    assert.equal(replaced.resource.permissionMode, PermissionMode.All);
    await fails(404, ada.permissions.create({ ...body, id: "q", resource: c.url + "-none" }));
    assert.equal((await permission.delete()).statusCode, 204);
    await fails(404, permission.read());
  },

  "token-read": async (t) => {
    await t.twenty();
    const c = await tokenClient(t, PermissionMode.Read);
    assert.equal((await c.item("i07", "p2").read()).resource.n, 7);
    assert.equal((await rows(c, "SELECT * FROM c", inKey("p2"))).length, 4);
    wantIds(await rows(c, "SELECT * FROM c WHERE c.n > 17"), ["i18", "i19"]);
    await fails(403, c.items.create({ id: "new", pk: "p2" }));
    await fails(403, c.items.upsert({ id: "i07", pk: "p2" }));
    await fails(403, c.item("i07", "p2").replace({ id: "i07", pk: "p2" }));
    await fails(403, c.item("i07", "p2").delete());
  },

  "token-all": async (t) => {
    await t.container();
    const c = await tokenClient(t, PermissionMode.All);
    assert.equal((await c.items.create({ id: "1", pk: "a" })).statusCode, 201);
    assert.equal((await c.item("1", "a").replace({ id: "1", pk: "a", v: 2 })).statusCode, 200);
    assert.equal((await c.item("1", "a").read()).resource.v, 2);
    wantIds(await rows(c, "SELECT * FROM c", inKey("a")), ["1"]);
    assert.equal((await c.item("1", "a").delete()).statusCode, 204);
    await fails(403, c.delete());
  },

  "token-partition": async (t) => {
    await t.twenty();
    const c = await tokenClient(t, PermissionMode.All, { resourcePartitionKey: ["p2"] });
    assert.equal((await c.item("i07", "p2").read()).resource.n, 7);
    assert.equal((await rows(c, "SELECT * FROM c", inKey("p2"))).length, 4);
    assert.equal((await c.items.create({ id: "new", pk: "p2" })).statusCode, 201);
    await fails(403, c.item("i03", "p3").read());
    await fails(403, c.items.create({ id: "new", pk: "p3" }));
    await fails(403, rows(c, "SELECT * FROM c", inKey("p3")));
  },

  "token-other-container": async (t) => {
    await t.container();
    const other = await t.container({ id: "other" });
    await other.items.create({ id: "1", pk: "a" });
    const { resource } = await (await t.database()).user((await tokenUser(t)).id).permission("p").read();
    const c = t.connect({ resourceTokens: { [other.url]: resource._token } }).database(t.name).container("other");
    await fails([401, 403], c.item("1", "a").read());
    await fails([401, 403], c.items.create({ id: "2", pk: "a" }));
  },

  "token-expired": async (t) => {
    const all = await t.container();
    await all.items.create({ id: "1", pk: "a" });
    const c = await tokenClient(t, PermissionMode.Read);
    assert.equal((await c.item("1", "a").read()).resource.id, "1");
    await t.advance(7200);
    await fails([401, 403], c.item("1", "a").read());
  },

  "encryption-key-lifecycle": async (t) => {
    await t.database();
    const db = encrypting(t).database(t.name);
    const made = await db.createClientEncryptionKey("key", EncryptionAlgorithm.AEAD_AES_256_CBC_HMAC_SHA256, wrapping("one"));
    assert.equal(made.statusCode, 201);
    await fails(409, db.createClientEncryptionKey("key", EncryptionAlgorithm.AEAD_AES_256_CBC_HMAC_SHA256, wrapping("one")));
    const read = await db.readClientEncryptionKey("key");
    assert.equal(read.clientEncryptionKeyProperties.encryptionKeyWrapMetadata.value, "one");
    assert.deepEqual(read.clientEncryptionKeyProperties.wrappedDataEncryptionKey, made.clientEncryptionKeyProperties.wrappedDataEncryptionKey);
    await db.rewrapClientEncryptionKey("key", wrapping("two"));
    assert.equal((await db.readClientEncryptionKey("key")).clientEncryptionKeyProperties.encryptionKeyWrapMetadata.value, "two");
  },

  "encryption-unknown-key": async (t) => {
    const clientEncryptionPolicy = { includedPaths: [encryptedPath("/secret", EncryptionType.RANDOMIZED, "none")], policyFormatVersion: 1 };
    const e = await fails(400, t.container({ clientEncryptionPolicy }));
    assert.match(e.message, /does not exist/);
  },

  "encryption-items": async (t) => {
    await t.database();
    const db = encrypting(t).database(t.name);
    await db.createClientEncryptionKey("key", EncryptionAlgorithm.AEAD_AES_256_CBC_HMAC_SHA256, wrapping("one"));
    const plain = await t.container({
      clientEncryptionPolicy: {
        includedPaths: [encryptedPath("/name", EncryptionType.DETERMINISTIC), encryptedPath("/secret", EncryptionType.RANDOMIZED)],
        policyFormatVersion: 1,
      },
    });
    const c = db.container("c");
    await c.initializeEncryption();
    const sent = { id: "1", pk: "a", name: "ada", secret: { n: 42, s: "nobody else is to read this" }, open: "yes" };
    assert.deepEqual(user((await c.items.create(sent)).resource), sent);
    await c.items.create({ ...sent, id: "2", name: "bob" });
    const stored = (await plain.item("1", "a").read()).resource;
    assert.equal(stored.open, "yes");
    assert.notEqual(stored.name, "ada");
    assert.notEqual(stored.secret.n, 42);
    assert.ok(!JSON.stringify(stored).includes("nobody else"));
    assert.deepEqual(user((await c.item("1", "a").read()).resource), sent);
    const { EncryptionQueryBuilder } = await import("@azure/cosmos");
    const builder = new EncryptionQueryBuilder("SELECT * FROM c WHERE c.name = @name");
    builder.addParameter("@name", "ada", "/name");
    const iterator = await c.items.getEncryptionQueryIterator(builder, inKey("a"));
    assert.deepEqual((await iterator.fetchAll()).resources.map(user), [sent]);
  },
};

async function tokenUser(t) {
  const db = await t.database();
  const { user: somebody } = await db.users.create({ id: "somebody" });
  await somebody.permissions.create({ id: "p", permissionMode: PermissionMode.All, resource: db.container("c").url });
  return somebody;
}
