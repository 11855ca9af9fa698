# Two stages: the first one has what building needs, the second one only what running needs.
# docker build --tag flowprism:0.1.0 .

FROM python:3.12.8-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src
RUN python -m venv /opt/flowprism
COPY setup.cfg pyproject.toml constraints.txt README.md LICENSE ./
COPY datamodel datamodel
COPY capture capture
COPY reconstruct reconstruct
COPY strategy strategy
COPY diagnose diagnose
COPY storage storage
COPY simulate simulate
COPY flowprism flowprism
RUN /opt/flowprism/bin/pip install --constraint constraints.txt '.[postgresql]'

FROM python:3.12.8-slim-bookworm
LABEL org.opencontainers.image.title="flowprism" org.opencontainers.image.licenses="Apache-2.0"
RUN useradd --system --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin flowprism \
    && install --directory --owner=flowprism --group=flowprism --mode=0750 /var/lib/flowprism
COPY --from=build /opt/flowprism /opt/flowprism
# The root file system may be read-only: what is kept goes to the volume, compiled decoders too, and scratch to /tmp.
ENV PATH=/opt/flowprism/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    NUMBA_CACHE_DIR=/var/lib/flowprism/compiled FLOWPRISM_STORE__FOLDER=/var/lib/flowprism
USER 10001:10001
WORKDIR /var/lib/flowprism
VOLUME /var/lib/flowprism
EXPOSE 8080/tcp 6343/udp 2055/udp 4739/udp 4739/tcp
STOPSIGNAL SIGTERM
ENTRYPOINT ["flowprism"]
CMD ["serve"]
