package com.example.seats;

import org.springframework.data.annotation.Id;
import org.springframework.data.annotation.Version;

import com.azure.spring.data.cosmos.core.mapping.Container;
import com.azure.spring.data.cosmos.core.mapping.PartitionKey;

/**
 * A seat of an event that is held or sold; one that is neither has no document.
 *
 * @param ttl seconds that the hold lasts, by which the database deletes it; -1 for a seat that is sold
 */
@Container(containerName = "seats", timeToLive = Seat.NEVER)
public record Seat(
    @Id String id, @PartitionKey String event, String customer, int ttl, @Version String _etag) {

    static final int HOLD_SECONDS = 10 * 60;
    static final int NEVER = -1; // as the container's default it switches TTL on

    static Seat heldBy(String customer, String event, String id) {
        return new Seat(id, event, customer, HOLD_SECONDS, null);
    }
}
