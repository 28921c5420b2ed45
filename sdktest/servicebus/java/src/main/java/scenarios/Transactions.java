package scenarios;

import static scenarios.Bus.msg;
import static scenarios.Bus.one;

import com.azure.messaging.servicebus.models.CompleteOptions;
import com.azure.messaging.servicebus.models.ServiceBusReceiveMode;
import java.util.Map;

/** Transactions. */
final class Transactions {
    private Transactions() {}

    static void add(Map<String, Run.Body> every) {
        every.put("transaction-commit", Transactions::commit);
        every.put("transaction-rollback", Transactions::rollback);
        every.put("transaction-settle", Transactions::settle);
        every.put("transaction-across", Transactions::across);
    }

    private static void commit(Bus t) {
        var q = t.queue();
        var s = t.sender(q.name());
        var tx = s.createTransaction();
        s.sendMessage(msg("a"), tx);
        s.sendMessage(msg("b"), tx);
        t.nothing(q);
        s.commitTransaction(tx);
        t.left(q, "a", "b");
    }

    private static void rollback(Bus t) {
        var q = t.queue();
        var s = t.sender(q.name());
        var tx = s.createTransaction();
        s.sendMessage(msg("a"), tx);
        s.sendMessage(msg("b"), tx);
        s.rollbackTransaction(tx);
        t.left(q);
    }

    private static void settle(Bus t) throws Exception {
        var q = t.queue();
        var s = t.sender(q.name());
        var r = t.receiver(q);
        s.sendMessage(msg("old"));
        var got = one(r, "old");
        var tx = s.createTransaction();
        r.complete(got, new CompleteOptions().setTransactionContext(tx));
        s.sendMessage(msg("never"), tx);
        s.rollbackTransaction(tx);
        t.nothing(q); // still locked
        t.advance(61);
        got = one(r, "old"); // the SDK has forgotten the lock that was part of the transaction
        tx = s.createTransaction();
        r.complete(got, new CompleteOptions().setTransactionContext(tx));
        s.sendMessage(msg("new"), tx);
        s.commitTransaction(tx);
        t.left(q, "new");
    }

    private static void across(Bus t) throws Exception {
        var from = t.queue();
        var to = t.queue("target", o -> {});
        t.send(from.name(), "a", "b");
        var shared = t.builder(Bus.KEY).enableCrossEntityTransactions();
        var r = t.receiver(shared, from, ServiceBusReceiveMode.PEEK_LOCK);
        var a = one(r, "a");
        var s = t.sender(shared, to.name());
        var tx = r.createTransaction();
        r.complete(a, new CompleteOptions().setTransactionContext(tx));
        s.sendMessage(msg("moved"), tx);
        r.commitTransaction(tx);
        t.left(to, "moved");
        var b = one(r, "b");
        tx = r.createTransaction();
        r.complete(b, new CompleteOptions().setTransactionContext(tx));
        s.sendMessage(msg("never"), tx);
        r.rollbackTransaction(tx);
        t.left(to);
        t.nothing(from); // still locked
        t.advance(61);
        t.left(from, "b");
    }
}
