package com.example.seats;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

@SpringBootApplication
public class SeatsApplication {
    public static void main(String[] args) {
        SpringApplication.run(SeatsApplication.class, args);
    }
}
