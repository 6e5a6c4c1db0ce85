# The image: both programs, certificates, and nothing else. `make image` builds it; the folder that it
# is built from is made by scripts/image.sh.
FROM scratch
ARG TARGETARCH
ARG VERSION
ARG REVISION
LABEL org.opencontainers.image.title="Runspan" \
      org.opencontainers.image.description="The OpenTelemetry Collector that knows your runs" \
      org.opencontainers.image.source="https://github.com/runspan/runspan" \
      org.opencontainers.image.documentation="https://github.com/runspan/runspan/blob/main/docs/kubernetes.md" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

COPY common/ /
COPY linux/${TARGETARCH}/ /
# A new named volume gets the owner of the folder it is mounted on.
COPY --chown=10001:10001 volumes/ /

USER 10001:10001
VOLUME ["/traces"]
# The settings of configs/local.yaml for a container whose ports are published.
ENV RUNSPAN_DATA=/traces \
    RUNSPAN_OTLP_GRPC=0.0.0.0:4317 \
    RUNSPAN_OTLP_HTTP=0.0.0.0:4318 \
    RUNSPAN_VIEWER=0.0.0.0:18318 \
    RUNSPAN_HEALTH=0.0.0.0:13133 \
    RUNSPAN_METRICS=0.0.0.0:8888
EXPOSE 4317 4318 18318 13133 8888
ENTRYPOINT ["/otelcol-runspan"]
CMD ["--config", "/etc/runspan/config.yaml"]
