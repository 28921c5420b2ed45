package com.example.seats;

import com.azure.spring.data.cosmos.repository.CosmosRepository;

interface SeatRepository extends CosmosRepository<Seat, String> {
}
