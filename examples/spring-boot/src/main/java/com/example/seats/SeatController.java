package com.example.seats;

import java.util.stream.StreamSupport;

import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

@RestController
@RequestMapping("/events/{event}/seats")
class SeatController {
    private final Seats seats;

    SeatController(Seats seats) {
        this.seats = seats;
    }

    record View(String id, boolean sold) {
    }

    @GetMapping
    Iterable<View> list(@PathVariable String event) {
        return StreamSupport.stream(seats.of(event).spliterator(), false)
            .map(seat -> new View(seat.id(), seat.ttl() == Seat.NEVER)).toList();
    }

    @PostMapping("/{id}/hold")
    @ResponseStatus(HttpStatus.CREATED)
    void hold(@PathVariable String event, @PathVariable String id, @RequestParam String customer) {
        seats.hold(event, id, customer);
    }

    @PostMapping("/{id}/confirm")
    void confirm(@PathVariable String event, @PathVariable String id, @RequestParam String customer) {
        seats.confirm(event, id, customer);
    }

    @ExceptionHandler(Seats.Taken.class)
    @ResponseStatus(HttpStatus.CONFLICT)
    void taken() {
    }

    @ExceptionHandler(Seats.NotHeld.class)
    @ResponseStatus(HttpStatus.GONE)
    void notHeld() {
    }
}
