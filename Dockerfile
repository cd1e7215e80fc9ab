# Both stages start from it. --build-arg BASE=... takes it from a registry of your own.
ARG BASE=node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d

FROM ${BASE} AS build
WORKDIR /build
# The packages are a layer of their own, which stays while package-lock.json does.
COPY .npmrc package.json package-lock.json ./
COPY packages/client/package.json packages/client/
COPY packages/dashboard/package.json packages/dashboard/
COPY packages/guide/package.json packages/guide/
COPY packages/migrate/package.json packages/migrate/
COPY packages/rest-contract/package.json packages/rest-contract/
COPY scripts scripts
RUN node scripts/build.mjs --packages-only
COPY . .
RUN npm run build
# The files of the npm package, and the packages that these need, as package-lock.json says. npm leaves the compiler there: a package
# would use it if it had to compile.
RUN npm pack --loglevel=error \
  && mkdir -p /opt/muster \
  && tar -xzf muster-*.tgz -C /opt/muster --strip-components=1 \
  && npm prune --omit=dev --no-audit --no-fund --loglevel=error \
  && rm -r node_modules/muster-* node_modules/rest-contract node_modules/typescript \
  && mv node_modules/* /opt/muster/node_modules/ \
  && chmod -R a+rX,go-w /opt/muster

FROM ${BASE}
WORKDIR /opt/muster
COPY --from=build /opt/muster .
# Further packages of Debian, for agents that unpack zip, bzip2 and xz or check signatures: PACKAGES="unzip bzip2 xz-utils gpg".
ARG PACKAGES=
RUN [ -z "$PACKAGES" ] || { apt-get update && apt-get install -y --no-install-recommends $PACKAGES && rm -r /var/lib/apt/lists/*; }
ENV MUSTER_HOST=0.0.0.0 MUSTER_DATA_DIR=/var/lib/muster
# A uid without an account is of group root, and may write there as well. Nothing is written elsewhere but to /tmp.
RUN mkdir -m 771 /var/lib/muster && chown node:root /var/lib/muster
# Tasks run as the same user. With `--user root` the agent gives each task a user of its own; tasks themselves never run as root.
USER node
VOLUME /var/lib/muster
EXPOSE 7099
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.MUSTER_PORT || 7099) + '/readyz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "bin/muster.mjs", "start"]
