# The service, its store in a volume. `docker build --tag evroute .` builds it; the configuration is mounted.
FROM node:24-slim AS package
WORKDIR /build
COPY . .
RUN npm ci && npm pack --pack-destination /package

FROM node:24-slim
COPY --from=package /package /package
RUN npm install --global --omit=dev --ignore-scripts /package/evroute-*.tgz \
  && rm -r /package \
  && install --directory --owner=node --group=node --mode=0700 /var/lib/evroute
USER node
WORKDIR /var/lib/evroute
VOLUME /var/lib/evroute
EXPOSE 4000 4001
HEALTHCHECK --start-period=30s --interval=10s --timeout=3s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:4000/readyz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["evroute"]
CMD ["serve", "--config", "/etc/evroute/evroute.config.json", "--json"]
