// The built scheduler on a real PostgreSQL (with fsync) and a simulated cluster, driven by hand.
import { mkdtempSync, chmodSync, rmSync } from 'node:fs';
import { register } from 'node:module';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

register('../../support/ts-hooks.mjs', import.meta.url, { data: { built: true } });

const product = (path) => import(new URL(`../../../dist/src/${path}`, import.meta.url));

const { SimulatedCluster } = await import('../../support/simulated-cluster/simulated-cluster.ts');
const { entities } = await product('entities.js');
const { Clock } = await product('platform/clock.js');
const { Database } = await product('platform/database/database.js');
const { migrate } = await product('platform/database/migrate.js');
const { EmbeddedServer } = await product('platform/embedded-server/embedded-server.js');
const { Leadership } = await product('platform/leadership/leadership.js');
const { PlatformModule } = await product('platform/platform.module.js');
const { RepositoriesModule } = await product('repositories.module.js');
const { SettingsFile } = await product('platform/settings/settings.js');
const { SchedulerModule } = await product('scheduler/scheduler.module.js');
const { SchedulerTerm } = await product('scheduler/scheduler-term.service.js');
const { Scheduler } = await product('scheduler/scheduler.service.js');

export { product, SimulatedCluster };

/** Leads in epoch 1; never ready, so that no timer runs a pass. */
class BenchLeadership extends Leadership {
  current = () => 1;
  ready = () => false;
  register() {}
  stepDown() {}
  standing = () => ({ suspended: false });
  leaderAddress = () => Promise.resolve(undefined);
  start() {}
  stop = () => Promise.resolve();
}

/** One server for all worlds of a run; each world empties the tables. */
export async function startServer() {
  const folder = mkdtempSync(join(tmpdir(), 'mu-'));
  chmodSync(folder, 0o755);
  const server = await EmbeddedServer.start({ dataDir: folder });
  await migrate(server.url);
  const stop = async () => {
    await server.stop('immediate');
    rmSync(folder, { recursive: true, force: true });
  };
  return { url: server.url, stop };
}

export async function startWorld(url, { settings = {}, ...options }) {
  const cluster = new SimulatedCluster(options);
  const driver = cluster.driver();
  const clock = new Clock();
  clock.now = cluster.now;
  const platform = PlatformModule.forRoot({
    settings: { ...SettingsFile.parse(settings), port: 0, host: '127.0.0.1', databaseUrl: url, dataDir: tmpdir() },
    driver,
    entities,
    leadership: new BenchLeadership(),
    clock,
  });
  class World {}
  Module({ imports: [platform, RepositoriesModule, SchedulerModule] })(World);
  const context = await NestFactory.createApplicationContext(World, { logger: false, abortOnError: false });
  const db = context.get(Database);
  const { rows } = await product('platform/database/sql.js');
  await emptyTables(db.pool);
  await db.pool.query('UPDATE leader_epoch SET epoch = 1');
  const scheduler = context.get(Scheduler);
  const term = context.get(SchedulerTerm);
  await term.gained(1);
  await cluster.advance(0);
  return {
    cluster,
    driver,
    db,
    scheduler,
    get: (type) => context.get(type),
    query: (sql, parameters) => rows(db.pool, sql, parameters),
    close: async () => {
      await term.lost();
      await context.close();
    },
  };
}

async function emptyTables(manager) {
  const kept = ['muster_migration', 'leader_epoch', 'leader_lease'];
  const found = await manager.query(
    `SELECT string_agg(quote_ident(tablename), ', ') AS names FROM pg_tables WHERE schemaname = 'public' AND tablename <> ALL ($1)`,
    [kept],
  );
  await manager.query(`TRUNCATE ${found[0].names}`);
}

export const machine = {
  cpus: cpus().length,
  model: cpus()[0]?.model,
  memoryGb: Math.round(totalmem() / 2 ** 30),
  node: process.version,
};

/** `--name value` pairs. */
export function options(argv) {
  const given = {};
  for (let index = 0; index < argv.length; index += 2) given[argv[index].replace(/^--/, '')] = argv[index + 1];
  return given;
}
