FROM node:24-bookworm-slim
WORKDIR /opt/muster
COPY . .
RUN npm run build
ENV MUSTER_HOST=0.0.0.0 MUSTER_DATA_DIR=/var/lib/muster
RUN mkdir -p /var/lib/muster && chown node:node /var/lib/muster
# Tasks run as the same user. With `--user root` the agent gives each task a user of its own; tasks themselves never run as root.
USER node
VOLUME /var/lib/muster
EXPOSE 7099
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.MUSTER_PORT || 7099) + '/readyz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "bin/muster.mjs", "start"]
