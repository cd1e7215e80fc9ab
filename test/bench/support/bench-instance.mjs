// Some rooms of the built product behind real HTTP, as one of several instances on a database. It leads in epoch 1, if asked to.
import { tmpdir } from 'node:os';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { product } from './bench-world.mjs';

const { entities } = await product('entities.js');
const { Database } = await product('platform/database/database.js');
const { configureHttp, httpOptions } = await product('platform/http/configure-http.js');
const { HttpAdapter } = await product('platform/http/http-adapter.js');
const { Leadership } = await product('platform/leadership/leadership.js');
const { PlatformModule } = await product('platform/platform.module.js');
const { RepositoriesModule } = await product('repositories.module.js');
const { Pollers } = await product('platform/poller/pollers.js');
const { SettingsFile } = await product('platform/settings/settings.js');
const { Notifier } = await product('platform/wake/notifier.js');
const { Clock } = await product('platform/clock.js');

class FixedLeadership extends Leadership {
  constructor(leads) {
    super();
    this.leads = leads;
  }
  current = () => (this.leads ? 1 : undefined);
  ready = () => this.leads;
  register() {}
  stepDown() {}
  standing = () => ({ suspended: false });
  leaderAddress = () => Promise.resolve(undefined);
  start() {}
  stop = () => Promise.resolve();
}

export async function startInstance(databaseUrl, { modules, settings = {}, leads = true }) {
  const all = { ...SettingsFile.parse(settings), port: 0, host: '127.0.0.1', databaseUrl, dataDir: tmpdir() };
  const options = { settings: all, driver: {}, entities, leadership: new FixedLeadership(leads), clock: new Clock() };
  class Instance {}
  Module({ imports: [PlatformModule.forRoot(options), RepositoriesModule, ...modules] })(Instance);
  const app = await NestFactory.create(Instance, new HttpAdapter(all.http), {
    ...httpOptions,
    logger: process.env.BENCH_LOG ? undefined : false,
    abortOnError: false,
  });
  configureHttp(app, all);
  await app.listen(0, '127.0.0.1');
  const db = app.get(Database);
  await db.pool.query('UPDATE leader_epoch SET epoch = 1');
  app.get(Notifier).start();
  app.get(Pollers);
  return { app, db, url: `http://127.0.0.1:${app.getHttpServer().address().port}`, get: (type) => app.get(type) };
}

/** Percentiles of numbers in any order. */
export function percentiles(numbers) {
  const sorted = Float64Array.from(numbers).sort();
  const at = (share) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] * 10) / 10;
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}
