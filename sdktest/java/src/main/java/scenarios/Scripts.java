package scenarios;

import static scenarios.Want.absent;
import static scenarios.Want.across;
import static scenarios.Want.equal;
import static scenarios.Want.fails;
import static scenarios.Want.in;
import static scenarios.Want.json;
import static scenarios.Want.key;
import static scenarios.Want.matches;
import static scenarios.Want.parse;
import static scenarios.Want.read;
import static scenarios.Want.rows;
import static scenarios.Want.wantIds;
import static scenarios.Want.wantRows;

import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosScripts;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosStoredProcedureProperties;
import com.azure.cosmos.models.CosmosStoredProcedureRequestOptions;
import com.azure.cosmos.models.CosmosStoredProcedureResponse;
import com.azure.cosmos.models.CosmosTriggerProperties;
import com.azure.cosmos.models.CosmosUserDefinedFunctionProperties;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import com.azure.cosmos.models.TriggerOperation;
import com.azure.cosmos.models.TriggerType;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Stored procedures, triggers and user-defined functions. Their bodies run on the server. */
final class Scripts {
    private Scripts() {}

    static void add(Map<String, Run.Body> every) {
        every.put("procedure-lifecycle", Scripts::procedureLifecycle);
        every.put("procedure-execute", Scripts::procedureExecute);
        every.put("procedure-writes", Scripts::procedureWrites);
        every.put("procedure-continuation", Scripts::procedureContinuation);
        every.put("procedure-query-pages", Scripts::procedureQueryPages);
        every.put("procedure-rollback", Scripts::procedureRollback);
        every.put("procedure-log", Scripts::procedureLog);
        every.put("trigger-lifecycle", Scripts::triggerLifecycle);
        every.put("trigger-pre", Scripts::triggerPre);
        every.put("trigger-post", Scripts::triggerPost);
        every.put("trigger-rollback", Scripts::triggerRollback);
        every.put("trigger-wrong-operation", Scripts::triggerWrongOperation);
        every.put("function-lifecycle", Scripts::functionLifecycle);
        every.put("function-query", Scripts::functionQuery);
    }

    private static final String FIRST = "function () { var a = 1; }";
    private static final String CHANGED = "function () { var a = 2; }";

    private static SqlQuerySpec byId(String id) {
        return new SqlQuerySpec("SELECT * FROM s WHERE s.id = @id", new SqlParameter("@id", id));
    }

    private static void procedureLifecycle(Scenario t) {
        CosmosScripts s = t.container().getScripts();
        var properties = new CosmosStoredProcedureProperties("p", FIRST);
        var made = s.createStoredProcedure(properties);
        equal(made.getStatusCode(), 201);
        equal(made.getProperties().getBody(), FIRST);
        fails(409, () -> s.createStoredProcedure(properties));
        var p = s.getStoredProcedure("p");
        equal(p.read().getProperties().getBody(), FIRST);
        equal(s.readAllStoredProcedures().stream().map(CosmosStoredProcedureProperties::getId).toList(), List.of("p"));
        equal(s.queryStoredProcedures(byId("p"), across()).stream().map(CosmosStoredProcedureProperties::getId).toList(), List.of("p"));
        equal(p.replace(made.getProperties().setBody(CHANGED)).getStatusCode(), 200);
        equal(p.read().getProperties().getBody(), CHANGED);
        equal(p.delete().getStatusCode(), 204);
        fails(404, p::read);
    }

    private static CosmosStoredProcedureRequestOptions inA() {
        return new CosmosStoredProcedureRequestOptions().setPartitionKey(key("a"));
    }

    private static void procedure(CosmosContainer c, String body) {
        c.getScripts().createStoredProcedure(new CosmosStoredProcedureProperties("p", body));
    }

    private static CosmosStoredProcedureResponse execute(CosmosContainer c, Object... parameters) {
        return c.getScripts().getStoredProcedure("p").execute(Arrays.asList(parameters), inA());
    }

    private static void procedureExecute(Scenario t) {
        CosmosContainer c = t.container();
        procedure(c, """
            function (text, number, flag, nothing, list, object) {
                getContext().getResponse().setBody({ text, number: number + 1, flag: !flag, nothing, list: list.length, object });
            }""");
        CosmosStoredProcedureResponse r = execute(c, "x", 41, true, null, List.of(1, 2, 3), Map.of("a", Map.of("b", 1)));
        equal(r.getStatusCode(), 200);
        equal(parse(r.getResponseAsString()), "{text:'x', number:42, flag:false, nothing:null, list:3, object:{a:{b:1}}}");
    }

    private static void procedureWrites(Scenario t) {
        CosmosContainer c = t.container();
        c.createItem(json("{id:'other', pk:'b', v:0}"));
        c.createItem(json("{id:'doomed', pk:'a', v:0}"));
        procedure(c, """
            function (pk) {
                const coll = getContext().getCollection();
                const link = coll.getSelfLink();
                const stop = (err) => { if (err) throw err; };
                coll.createDocument(link, { id: "made", pk, v: 1 }, (err, doc) => {
                    stop(err);
                    coll.readDocument(doc._self, (err, read) => {
                        stop(err);
                        read.v++;
                        coll.replaceDocument(read._self, read, (err) => {
                            stop(err);
                            coll.queryDocuments(link, "SELECT * FROM c WHERE c.v = 0", (err, found) => {
                                stop(err);
                                for (const doc of found) coll.deleteDocument(doc._self, stop);
                                getContext().getResponse().setBody(found.length);
                            });
                        });
                    });
                });
            }""");
        equal(execute(c, "a").getResponseAsString(), "1");
        wantIds(rows(c, "SELECT * FROM c", across()), List.of("other", "made"));
        equal(read(c, "made", "a").get("v").asInt(), 2);
    }

    private static void procedureContinuation(Scenario t) {
        CosmosContainer c = t.container();
        procedure(c, """
            function (docs) {
                const coll = getContext().getCollection();
                let done = 0;
                const next = () => {
                    if (done === docs.length || done === 10) return getContext().getResponse().setBody(done);
                    const accepted = coll.createDocument(coll.getSelfLink(), docs[done], (err) => {
                        if (err) throw err;
                        done++;
                        next();
                    });
                    if (!accepted) getContext().getResponse().setBody(done);
                };
                next();
            }""");
        List<ObjectNode> left = IntStream.range(0, 25).mapToObj(i -> json("{id:'%d', pk:'a'}", i)).toList();
        int calls = 0;
        for (; !left.isEmpty(); calls++) {
            left = left.subList(Integer.parseInt(execute(c, left).getResponseAsString()), left.size());
        }
        equal(calls, 3);
        wantRows(c, "SELECT VALUE COUNT(1) FROM c", in("a"), "[25]");
    }

    private static void procedureQueryPages(Scenario t) {
        CosmosContainer c = t.container();
        IntStream.range(0, 7).forEach(i -> c.createItem(json("{id:'%d', pk:'a'}", i)));
        procedure(c, """
            function () {
                const coll = getContext().getCollection();
                const text = { query: "SELECT * FROM c WHERE c.pk = @p", parameters: [{ name: "@p", value: "a" }] };
                const sizes = [];
                const next = (continuation) => {
                    coll.queryDocuments(coll.getSelfLink(), text, { pageSize: 3, continuation }, (err, docs, more) => {
                        if (err) throw err;
                        sizes.push(docs.length);
                        if (more.continuation) next(more.continuation);
                        else getContext().getResponse().setBody(sizes);
                    });
                };
                next();
            }""");
        equal(parse(execute(c).getResponseAsString()), "[3, 3, 1]");
    }

    private static void procedureRollback(Scenario t) {
        CosmosContainer c = t.container();
        procedure(c, """
            function () {
                const coll = getContext().getCollection();
                coll.createDocument(coll.getSelfLink(), { id: "1", pk: "a" }, () => { throw new Error("on second thoughts"); });
            }""");
        matches(fails(400, () -> execute(c)).getMessage(), "on second thoughts");
        absent(c, "1", "a");
    }

    private static void procedureLog(Scenario t) {
        CosmosContainer c = t.container();
        procedure(c, """
            function () { console.log("said & done ä"); getContext().getResponse().setBody("ok"); }""");
        var p = c.getScripts().getStoredProcedure("p");
        equal(p.execute(List.of(), inA().setScriptLoggingEnabled(true)).getScriptLog(), "said & done ä");
        equal(p.execute(List.of(), inA()).getScriptLog(), null);
    }

    private static CosmosTriggerProperties trigger(String id, TriggerType type, TriggerOperation operation, String body) {
        return new CosmosTriggerProperties(id, body).setTriggerType(type).setTriggerOperation(operation);
    }

    private static void triggerLifecycle(Scenario t) {
        CosmosScripts s = t.container().getScripts();
        var properties = trigger("t", TriggerType.PRE, TriggerOperation.ALL, FIRST);
        var made = s.createTrigger(properties);
        equal(made.getStatusCode(), 201);
        equal(made.getProperties().getBody(), FIRST);
        fails(409, () -> s.createTrigger(properties));
        var trigger = s.getTrigger("t");
        equal(trigger.read().getProperties().getBody(), FIRST);
        equal(s.readAllTriggers().stream().map(CosmosTriggerProperties::getId).toList(), List.of("t"));
        equal(s.queryTriggers(byId("t"), across()).stream().map(CosmosTriggerProperties::getId).toList(), List.of("t"));
        equal(trigger.replace(made.getProperties().setBody(CHANGED)).getStatusCode(), 200);
        equal(trigger.read().getProperties().getBody(), CHANGED);
        equal(trigger.delete().getStatusCode(), 204);
        fails(404, trigger::read);
    }

    private static CosmosItemRequestOptions before(String trigger) {
        return new CosmosItemRequestOptions().setPreTriggerInclude(List.of(trigger));
    }

    private static CosmosItemRequestOptions after(String trigger) {
        return new CosmosItemRequestOptions().setPostTriggerInclude(List.of(trigger));
    }

    private static void triggerPre(Scenario t) {
        CosmosContainer c = t.container();
        c.getScripts().createTrigger(trigger("stamp", TriggerType.PRE, TriggerOperation.CREATE, """
            function () {
                const request = getContext().getRequest();
                const doc = request.getBody();
                doc.stamped = true;
                request.setBody(doc);
            }"""));
        equal(c.createItem(json("{id:'1', pk:'a'}"), before("stamp")).getItem().path("stamped").asBoolean(), true);
        c.createItem(json("{id:'2', pk:'a'}"));
        wantIds(rows(c, "SELECT * FROM c WHERE c.stamped", in("a")), List.of("1"));
    }

    private static void triggerPost(Scenario t) {
        CosmosContainer c = t.container();
        c.createItem(json("{id:'counter', pk:'a', n:0}"));
        c.getScripts().createTrigger(trigger("count", TriggerType.POST, TriggerOperation.ALL, """
            function () {
                const coll = getContext().getCollection();
                const made = getContext().getResponse().getBody();
                coll.queryDocuments(coll.getSelfLink(), "SELECT * FROM c WHERE c.id = 'counter'", (err, found) => {
                    if (err) throw err;
                    found[0].n++;
                    found[0].last = made.id;
                    coll.replaceDocument(found[0]._self, found[0], (err) => { if (err) throw err; });
                });
            }"""));
        List.of("1", "2").forEach(id -> c.createItem(json("{id:'%s', pk:'a'}", id), after("count")));
        ObjectNode counter = read(c, "counter", "a");
        equal(counter.get("n").asInt(), 2);
        equal(counter.get("last").asText(), "2");
    }

    private static void triggerRollback(Scenario t) {
        CosmosContainer c = t.container();
        c.getScripts().createTrigger(trigger("no", TriggerType.POST, TriggerOperation.ALL, "function () { throw new Error('not today'); }"));
        fails(400, () -> c.createItem(json("{id:'1', pk:'a'}"), after("no")));
        absent(c, "1", "a");
    }

    private static void triggerWrongOperation(Scenario t) {
        CosmosContainer c = t.container();
        c.getScripts().createTrigger(trigger("d", TriggerType.PRE, TriggerOperation.DELETE, "function () {}"));
        fails(400, () -> c.createItem(json("{id:'1', pk:'a'}"), before("d")));
        absent(c, "1", "a");
    }

    private static void functionLifecycle(Scenario t) {
        CosmosScripts s = t.container().getScripts();
        var properties = new CosmosUserDefinedFunctionProperties("f", FIRST);
        var made = s.createUserDefinedFunction(properties);
        equal(made.getStatusCode(), 201);
        equal(made.getProperties().getBody(), FIRST);
        fails(409, () -> s.createUserDefinedFunction(properties));
        var f = s.getUserDefinedFunction("f");
        equal(f.read().getProperties().getBody(), FIRST);
        equal(s.readAllUserDefinedFunctions().stream().map(CosmosUserDefinedFunctionProperties::getId).toList(), List.of("f"));
        equal(s.queryUserDefinedFunctions(byId("f"), across()).stream().map(CosmosUserDefinedFunctionProperties::getId).toList(), List.of("f"));
        equal(f.replace(made.getProperties().setBody(CHANGED)).getStatusCode(), 200);
        equal(f.read().getProperties().getBody(), CHANGED);
        equal(f.delete().getStatusCode(), 204);
        fails(404, f::read);
    }

    private static void functionQuery(Scenario t) {
        CosmosContainer c = t.twenty();
        c.getScripts().createUserDefinedFunction(new CosmosUserDefinedFunctionProperties("tax", "function (n) { return n * 10; }"));
        wantRows(c, "SELECT VALUE udf.tax(c.n) FROM c", in("p1"), "[10, 60, 110, 160]");
        wantRows(c, "SELECT VALUE c.n FROM c WHERE udf.tax(c.n) = 70", across(), "[7]");
        fails(400, () -> rows(c, "SELECT VALUE udf.none(c.n) FROM c", in("p1")));
    }
}
