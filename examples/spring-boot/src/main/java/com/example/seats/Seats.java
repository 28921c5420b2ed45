package com.example.seats;

import com.azure.cosmos.models.CosmosPatchItemRequestOptions;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.PartitionKey;
import com.azure.spring.data.cosmos.core.CosmosTemplate;
import com.azure.spring.data.cosmos.exception.CosmosConflictException;
import com.azure.spring.data.cosmos.exception.CosmosNotFoundException;
import com.azure.spring.data.cosmos.exception.CosmosPreconditionFailedException;

import org.springframework.stereotype.Service;

/** Holds seats for ten minutes, and sells them to who holds them. */
@Service
class Seats {
    private final SeatRepository seats;
    private final CosmosTemplate cosmos;

    Seats(SeatRepository seats, CosmosTemplate cosmos) {
        this.seats = seats;
        this.cosmos = cosmos;
    }

    /** Takes a seat that nobody has, or whose hold is over: there is no document of it then. */
    void hold(String event, String id, String customer) {
        try {
            // The save of the repository would replace what is there.
            cosmos.insert(Seat.heldBy(customer, event, id), new PartitionKey(event));
        } catch (CosmosConflictException e) {
            throw new Taken();
        }
    }

    /** Sells a seat to who holds it. The hold may end until the very moment of the write. */
    void confirm(String event, String id, String customer) {
        PartitionKey key = new PartitionKey(event);
        Seat seat = seats.findById(id, key).orElseThrow(NotHeld::new);
        if (!seat.customer().equals(customer)) {
            throw new Taken();
        }
        CosmosPatchItemRequestOptions unchanged = new CosmosPatchItemRequestOptions();
        unchanged.setIfMatchETag(seat._etag());
        try {
            CosmosPatchOperations sell = CosmosPatchOperations.create().set("/ttl", Seat.NEVER);
            seats.save(id, key, Seat.class, sell, unchanged);
        } catch (CosmosNotFoundException | CosmosPreconditionFailedException e) {
            throw new NotHeld();
        }
    }

    Iterable<Seat> of(String event) {
        return seats.findAll(new PartitionKey(event));
    }

    /** Somebody else has the seat. */
    static class Taken extends RuntimeException {
    }

    /** Nobody holds the seat (any more). */
    static class NotHeld extends RuntimeException {
    }
}
