package com.example.seats;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.time.Duration;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.autoconfigure.web.servlet.AutoConfigureMockMvc;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;
import org.springframework.test.web.servlet.assertj.MockMvcTester;

@SpringBootTest
@AutoConfigureMockMvc
class SeatsTest {
    private static Mayfly mayfly;

    @Autowired
    private MockMvcTester mvc;

    @DynamicPropertySource
    static void cosmos(DynamicPropertyRegistry properties) throws IOException {
        System.setProperty("COSMOS.HTTP_CONNECTION_WITHOUT_TLS_ALLOWED", "true"); // of the SDK, for http://
        mayfly = Mayfly.start();
        properties.add("COSMOS_ENDPOINT", () -> mayfly.endpoint);
        properties.add("COSMOS_KEY", () -> Mayfly.KEY);
    }

    @AfterAll
    static void stop() {
        mayfly.close();
    }

    @Test
    void aHoldLastsForTenMinutes() throws IOException {
        assertThat(post("opera", "A1", "hold", "ada")).isEqualTo(201);
        mayfly.advance(Duration.ofSeconds(599));
        assertThat(post("opera", "A1", "hold", "bob")).isEqualTo(409);
        assertThat(mvc.get().uri("/events/opera/seats")).bodyJson()
            .isStrictlyEqualTo("[{\"id\": \"A1\", \"sold\": false}]");
        mayfly.advance(Duration.ofSeconds(1));
        assertThat(mvc.get().uri("/events/opera/seats")).bodyJson().isStrictlyEqualTo("[]");
        assertThat(post("opera", "A1", "hold", "bob")).isEqualTo(201);
        assertThat(post("opera", "A1", "confirm", "ada")).isEqualTo(409);
    }

    @Test
    void aSeatThatIsSoldStaysSold() throws IOException {
        assertThat(post("ballet", "B7", "hold", "ada")).isEqualTo(201);
        mayfly.advance(Duration.ofMinutes(9));
        assertThat(post("ballet", "B7", "confirm", "ada")).isEqualTo(200);
        mayfly.advance(Duration.ofDays(365));
        assertThat(post("ballet", "B7", "hold", "bob")).isEqualTo(409);
        assertThat(mvc.get().uri("/events/ballet/seats")).bodyJson()
            .isStrictlyEqualTo("[{\"id\": \"B7\", \"sold\": true}]");
    }

    @Test
    void whoComesTooLateHasToAskAgain() throws IOException {
        assertThat(post("circus", "C3", "hold", "ada")).isEqualTo(201);
        mayfly.advance(Duration.ofMinutes(10));
        assertThat(post("circus", "C3", "confirm", "ada")).isEqualTo(410);
    }

    private int post(String event, String seat, String what, String customer) {
        String uri = "/events/{event}/seats/{seat}/{what}?customer={customer}";
        return mvc.post().uri(uri, event, seat, what, customer).exchange().getResponse().getStatus();
    }
}
