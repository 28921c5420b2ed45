# The image of Mayfly: the binary, the certificates of public authorities, and nothing else.
#
#   docker build -t mayfly .                              from these sources
#   docker build -t mayfly --build-arg BINARY=prebuilt .  from linux/amd64/mayfly and linux/arm64/mayfly, as a release has them
ARG BINARY=source

FROM --platform=$BUILDPLATFORM golang:1.26-alpine AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=devel
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags "-s -w -X main.released=$VERSION" -o /out/mayfly ./cmd/mayfly

FROM scratch AS source
COPY --from=build /out/mayfly /mayfly

FROM scratch AS prebuilt
ARG TARGETPLATFORM
COPY $TARGETPLATFORM/mayfly /mayfly

# What the binary finds around itself: certificates for webhooks and telemetry over TLS, a folder for what is
# large and passing, and one for the data, which is the user's alone.
FROM --platform=$BUILDPLATFORM alpine:3.22 AS around
RUN mkdir -p /around/etc/ssl/certs /around/tmp /around/data \
    && cp /etc/ssl/certs/ca-certificates.crt /around/etc/ssl/certs/ \
    && chmod 1777 /around/tmp && chmod 700 /around/data && chown 65532:65532 /around/data

FROM ${BINARY}
COPY --from=around /around/ /
LABEL org.opencontainers.image.title="Mayfly" \
      org.opencontainers.image.description="A document store whose documents can be mortal, on the wire of Azure Cosmos DB, with Service Bus queues and topics" \
      org.opencontainers.image.source="https://github.com/mayflydb/mayfly" \
      org.opencontainers.image.licenses="Apache-2.0"

# The data go to /data/mayfly. The address is that of the container, which others reach only where its ports
# are published: publish them on 127.0.0.1, or give MAYFLY_KEY_FILE a key of your own. The names are those by
# which containers usually call an emulator; MAYFLY_SAN takes others.
ENV XDG_DATA_HOME=/data \
    MAYFLY_HOST=0.0.0.0 \
    MAYFLY_ALLOW_WELL_KNOWN_KEY=true \
    MAYFLY_EMULATOR_VARIABLES=true \
    EXPLORER_PORT=1234 \
    MAYFLY_HEALTH_PORT=8080 \
    MAYFLY_SERVICEBUS=true \
    MAYFLY_SAN=mayfly,cosmos,cosmosdb,cosmos-db,cosmos-emulator,cosmosdb-emulator,azure-cosmos-emulator,emulator,servicebus,service-bus,servicebus-emulator,sb-emulator,host.docker.internal,host.containers.internal,host.testcontainers.internal

USER 65532:65532
VOLUME /data
# Cosmos DB, health probes, the same as the first for the explorer, AMQP, AMQP in TLS, management, management in TLS
EXPOSE 8081 8080 1234 5672 5671 5300 5301
HEALTHCHECK --interval=5s --timeout=6s --start-period=30s --retries=3 CMD ["/mayfly", "health"]
ENTRYPOINT ["/mayfly"]
CMD ["serve"]
