package scenarios;

import static scenarios.Want.across;
import static scenarios.Want.delete;
import static scenarios.Want.equal;
import static scenarios.Want.fails;
import static scenarios.Want.in;
import static scenarios.Want.json;
import static scenarios.Want.key;
import static scenarios.Want.matches;
import static scenarios.Want.read;
import static scenarios.Want.replace;
import static scenarios.Want.rows;
import static scenarios.Want.wantIds;
import static scenarios.Want.wantNames;

import com.azure.cosmos.CosmosAsyncUser;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosDatabase;
import com.azure.cosmos.CosmosUser;
import com.azure.cosmos.models.CosmosPermissionProperties;
import com.azure.cosmos.models.CosmosUserProperties;
import com.azure.cosmos.models.PermissionMode;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Users, permissions and resource tokens. */
final class Users {
    private Users() {}

    static void add(Map<String, Run.Body> every) {
        every.put("user-lifecycle", Users::userLifecycle);
        every.put("permission-lifecycle", Users::permissionLifecycle);
        every.put("token-read", Users::tokenRead);
        every.put("token-all", Users::tokenAll);
        every.put("token-partition", Users::tokenPartition);
        every.put("token-other-container", Users::tokenOtherContainer);
        every.put("token-expired", Users::tokenExpired);
    }

    private static CosmosUserProperties user(String id) {
        return new CosmosUserProperties().setId(id);
    }

    private static void userLifecycle(Scenario t) {
        CosmosDatabase db = t.database();
        equal(db.createUser(user("ada")).getStatusCode(), 201);
        fails(409, () -> db.createUser(user("ada")));
        CosmosUser ada = db.getUser("ada");
        equal(ada.read().getProperties().getId(), "ada");
        equal(db.upsertUser(user("bob")).getStatusCode(), 201);
        equal(db.upsertUser(user("bob")).getStatusCode(), 200);
        wantNames(names(db.readAllUsers()), List.of("ada", "bob"));
        var text = new SqlQuerySpec("SELECT * FROM u WHERE u.id = @id", new SqlParameter("@id", "bob"));
        wantNames(names(db.queryUsers(text)), List.of("bob"));
        equal(ada.replace(ada.read().getProperties().setId("eve")).getStatusCode(), 200);
        fails(404, ada::read);
        equal(db.getUser("eve").delete().getStatusCode(), 204);
        wantNames(names(db.readAllUsers()), List.of("bob"));
    }

    private static List<String> names(Iterable<CosmosUserProperties> users) {
        List<String> all = new java.util.ArrayList<>();
        users.forEach(u -> all.add(u.getId()));
        return all;
    }

    private static CosmosPermissionProperties permission(String id, PermissionMode mode, String container) {
        return new CosmosPermissionProperties().setId(id).setPermissionMode(mode).setContainerName(container);
    }

    private static void permissionLifecycle(Scenario t) {
        t.container();
        t.database().createUser(user("ada"));
        CosmosAsyncUser ada = t.asyncDatabase().getUser("ada");
        var made = ada.createPermission(permission("p", PermissionMode.READ, "c"), null).block();
        equal(made.getStatusCode(), 201);
        matches(made.getProperties().getToken(), "(?i)^type(=|%3d)resource");
        fails(409, () -> ada.createPermission(permission("p", PermissionMode.READ, "c"), null).block());
        var p = ada.getPermission("p");
        equal(p.read(null).block().getProperties().getPermissionMode(), PermissionMode.READ);
        equal(ada.readAllPermissions().map(CosmosPermissionProperties::getId).collectList().block(), List.of("p"));
        var replaced = p.replace(p.read(null).block().getProperties().setPermissionMode(PermissionMode.ALL), null).block();
        equal(replaced.getProperties().getPermissionMode(), PermissionMode.ALL);
        fails(404, () -> ada.createPermission(permission("q", PermissionMode.READ, "c-none"), null).block());
        equal(p.delete(null).block().getStatusCode(), 204);
        fails(404, () -> p.read(null).block());
    }

    /** Gives somebody a permission on the container "c" and returns its token. */
    private static String token(Scenario t, PermissionMode mode, Consumer<CosmosPermissionProperties> change) {
        t.database().createUser(user("somebody"));
        CosmosPermissionProperties p = permission("p", mode, "c");
        change.accept(p);
        return t.asyncDatabase().getUser("somebody").createPermission(p, null).block().getProperties().getToken();
    }

    private static String token(Scenario t, PermissionMode mode) {
        return token(t, mode, p -> {});
    }

    /** A container as somebody sees it who has nothing but a token. */
    private static CosmosContainer seen(Scenario t, String token, String container) {
        return t.connect(t.builder().resourceToken(token)).getDatabase(t.name).getContainer(container);
    }

    private static void tokenRead(Scenario t) {
        t.twenty();
        CosmosContainer c = seen(t, token(t, PermissionMode.READ), "c");
        equal(read(c, "i07", "p2").get("n").asInt(), 7);
        equal(rows(c, "SELECT * FROM c", in("p2")).size(), 4);
        wantIds(rows(c, "SELECT * FROM c WHERE c.n > 17", across()), Scenario.ids(18, 20));
        fails(403, () -> c.createItem(json("{id:'new', pk:'p2'}")));
        fails(403, () -> c.upsertItem(json("{id:'i07', pk:'p2'}")));
        fails(403, () -> replace(c, json("{id:'i07', pk:'p2'}"), "p2"));
        fails(403, () -> delete(c, "i07", "p2"));
    }

    private static void tokenAll(Scenario t) {
        t.container();
        CosmosContainer c = seen(t, token(t, PermissionMode.ALL), "c");
        equal(c.createItem(json("{id:'1', pk:'a'}")).getStatusCode(), 201);
        equal(replace(c, json("{id:'1', pk:'a', v:2}"), "a").getStatusCode(), 200);
        equal(read(c, "1", "a").get("v").asInt(), 2);
        wantIds(rows(c, "SELECT * FROM c", in("a")), List.of("1"));
        equal(delete(c, "1", "a"), 204);
        fails(403, c::delete);
    }

    private static void tokenPartition(Scenario t) {
        t.twenty();
        CosmosContainer c = seen(t, token(t, PermissionMode.ALL, p -> p.setResourcePartitionKey(key("p2"))), "c");
        equal(read(c, "i07", "p2").get("n").asInt(), 7);
        equal(rows(c, "SELECT * FROM c", in("p2")).size(), 4);
        equal(c.createItem(json("{id:'new', pk:'p2'}")).getStatusCode(), 201);
        fails(403, () -> read(c, "i03", "p3"));
        fails(403, () -> c.createItem(json("{id:'new', pk:'p3'}")));
        fails(403, () -> rows(c, "SELECT * FROM c", in("p3")));
    }

    private static void tokenOtherContainer(Scenario t) {
        t.container();
        t.container(p -> p.setId("other")).createItem(json("{id:'1', pk:'a'}"));
        CosmosContainer c = seen(t, token(t, PermissionMode.ALL), "other");
        fails(List.of(401, 403), () -> read(c, "1", "a"));
        fails(List.of(401, 403), () -> c.createItem(json("{id:'2', pk:'a'}")));
    }

    private static void tokenExpired(Scenario t) throws Exception {
        t.container().createItem(json("{id:'1', pk:'a'}"));
        CosmosContainer c = seen(t, token(t, PermissionMode.READ), "c");
        equal(read(c, "1", "a").get("id").asText(), "1");
        t.advance(7200);
        fails(List.of(401, 403), () -> read(c, "1", "a"));
    }
}
