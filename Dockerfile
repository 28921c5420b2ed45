# The image of Mayfly. It contains only the binary and the certificates of public authorities.
#
#   docker build -t mayfly .                              from these sources
#   docker build -t mayfly --build-arg BINARY=prebuilt .  from the binaries linux/amd64/mayfly and linux/arm64/mayfly
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
    go build -trimpath -pgo=cmd/mayfly/release.pgo -ldflags "-s -w -X main.released=$VERSION" -o /out/mayfly ./cmd/mayfly

FROM scratch AS source
COPY --from=build /out/mayfly /mayfly

FROM scratch AS prebuilt
ARG TARGETPLATFORM
COPY $TARGETPLATFORM/mayfly /mayfly

# The files beside the binary: certificates for webhooks and telemetry over TLS, a folder for temporary files, and
# a folder for the data, which only the user of the image can read.
FROM --platform=$BUILDPLATFORM alpine:3.22 AS around
RUN mkdir -p /around/etc/ssl/certs /around/tmp /around/data \
    && cp /etc/ssl/certs/ca-certificates.crt /around/etc/ssl/certs/ \
    && chmod 1777 /around/tmp && chmod 700 /around/data && chown 65532:65532 /around/data

FROM ${BINARY}
COPY --from=around /around/ /
LABEL org.opencontainers.image.title="Mayfly" \
      org.opencontainers.image.description="A document store whose documents can expire, with the wire protocol of Azure Cosmos DB, and with Service Bus queues and topics" \
      org.opencontainers.image.source="https://github.com/mayflydb/mayfly" \
      org.opencontainers.image.licenses="Apache-2.0"

# The data is stored in /data/mayfly. The server listens on all addresses of the container, which other machines
# reach only at published ports: publish them on 127.0.0.1, or set your own key with MAYFLY_KEY_FILE. MAYFLY_SAN
# has the usual names of emulator containers; set it to replace them.
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
# Cosmos DB, health probes, the explorer (the same as 8081), AMQP, AMQP over TLS, management, management over TLS
EXPOSE 8081 8080 1234 5672 5671 5300 5301
HEALTHCHECK --interval=5s --timeout=6s --start-period=30s --retries=3 CMD ["/mayfly", "health"]
ENTRYPOINT ["/mayfly"]
CMD ["serve"]
