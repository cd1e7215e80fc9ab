FROM node:20-bookworm-slim
WORKDIR /opt/muster
COPY . .
RUN npm run build
# As root, so that the agent can give each task a user of its own; tasks themselves never run as root.
ENV MUSTER_HOST=0.0.0.0 MUSTER_DATA_DIR=/var/lib/muster
VOLUME /var/lib/muster
EXPOSE 7099
CMD ["node", "bin/muster.mjs", "start"]
