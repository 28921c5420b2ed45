package scenarios;

import com.azure.core.amqp.exception.AmqpException;
import com.azure.core.exception.HttpResponseException;
import com.azure.messaging.servicebus.ServiceBusException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.Locale;
import java.util.Objects;

/** Ways to say what is wanted. */
final class Want {
    private Want() {}

    static void equal(Object got, Object want) {
        if (!Objects.equals(got, want)) {
            throw new AssertionError(got + " is not " + want);
        }
    }

    static void yes(boolean holds, Object what) {
        if (!holds) {
            throw new AssertionError(String.valueOf(what));
        }
    }

    /** Wants two moments to be so far apart, give or take what real time has passed meanwhile. */
    static void lasts(OffsetDateTime from, OffsetDateTime to, int seconds) {
        yes(from != null && to != null, "a moment is missing: " + from + ", " + to);
        Duration off = Duration.between(from, to).minusSeconds(seconds).abs();
        yes(off.compareTo(Duration.ofSeconds(8)) < 0, to + " is not " + seconds + " s after " + from);
    }

    /** Wants a moment to be within a minute from now. */
    static void recent(OffsetDateTime moment) {
        Duration off = Duration.between(moment, OffsetDateTime.now()).abs();
        yes(off.compareTo(Duration.ofMinutes(1)) < 0, moment);
    }

    /** Wants a call to fail with an error whose kind, reason or text has one of these words. */
    static void refused(Run.Step call, String... words) {
        try {
            call.run();
        } catch (Exception e) {
            String said = said(e).toLowerCase(Locale.ROOT);
            for (String w : words) {
                if (said.contains(w.toLowerCase(Locale.ROOT))) {
                    return;
                }
            }
            throw new AssertionError("not refused with " + String.join(", ", words) + ", but: " + said(e), e);
        }
        throw new AssertionError("not refused, wanted " + String.join(", ", words));
    }

    /** Spells an error: its kind, the SDK's reason or the status if there is one, and its text. */
    static String said(Throwable e) {
        String reason = "";
        if (e instanceof ServiceBusException s) {
            reason = "[" + s.getReason() + "] ";
        } else if (e instanceof AmqpException a) {
            reason = "[" + a.getErrorCondition() + "] ";
        } else if (e instanceof HttpResponseException h && h.getResponse() != null) {
            reason = "[" + h.getResponse().getStatusCode() + "] ";
        }
        return e.getClass().getSimpleName() + ": " + reason + e.getMessage();
    }
}
