import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { connect } from '../../src/platform/database/connection.js';
import { migrate } from '../../src/platform/database/migrate.js';
import { EmbeddedServer } from '../../src/platform/embedded-server/embedded-server.js';
import { bundlePrograms } from '../../scripts/servers.mjs';
import { databaseUrl } from './database-url.js';
import { tempFolder } from './temp-folder.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** A database that may create databases: the place where tests make theirs. */
    adminUrl: string;
    /** Migrated once; each test file copies it. */
    templateName: string;
    /** How it is copied, in the words of CREATE DATABASE. */
    copying: string;
    /** The folder of the agent's programs (agent-programs.ts). */
    agentPrograms: string;
  }
}

/** Starts one server for the whole run, or uses DATABASE_URL, and migrates one template database. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = process.env['DATABASE_URL'] ? undefined : await startServer();
  const adminUrl = server?.url ?? process.env['DATABASE_URL']!;
  const templateName = `muster_template_${randomUUID().slice(0, 8)}`;
  await admin(adminUrl, `CREATE DATABASE ${templateName}`);
  await migrate(databaseUrl(adminUrl, templateName));
  project.provide('adminUrl', adminUrl);
  project.provide('templateName', templateName);
  // File by file, which in memory takes a quarter of the time of the way through the log. Older servers do not know the word.
  project.provide('copying', server ? 'STRATEGY file_copy' : '');
  const programs = await bundleAgent();
  project.provide('agentPrograms', programs.path);
  return async () => {
    programs.remove();
    if (server) await server.close();
    else await admin(adminUrl, `DROP DATABASE ${templateName} WITH (FORCE)`);
  };
}

/** Compiled module by module, each start of one would take seconds. */
async function bundleAgent(): Promise<{ path: string; remove: () => void }> {
  const folder = tempFolder();
  // Agents of other users read them, too.
  chmodSync(folder.path, 0o755);
  const sources = fileURLToPath(new URL('../../src', import.meta.url));
  const programs = ['main', 'artifacts/fetch-main', 'logs/rotate-main', 'uploads/upload-main', 'processes/hang-guard'];
  const paths = [...programs.map((name) => `agent/${name}.ts`), 'pod-agent/main.ts'];
  const entryPoints = paths.map((path) => join(sources, path));
  await bundlePrograms({ sources, target: folder.path, entryPoints });
  return folder;
}

const memory = '/dev/shm';
const roomBytes = 4 * 1024 ** 3;

/** In memory, where there is enough of it: a database has 650 files, and to make and remove them on a disk takes most of its time. */
function folderOfServer(): string {
  try {
    const { bavail, bsize } = statfsSync(memory);
    return Math.min(bavail * bsize, freemem()) > roomBytes ? memory : tmpdir();
  } catch {
    return tmpdir();
  }
}

async function startServer(): Promise<{ url: string; close: () => Promise<void> }> {
  const { path: folder, remove } = tempFolder(folderOfServer());
  // Nothing in a test survives the run, so nothing has to reach the disk.
  const parameters = {
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    max_connections: '500',
    max_wal_size: '256MB',
    scram_iterations: '1',
  };
  const server = await EmbeddedServer.start({ dataDir: folder, parameters });
  removeAfterAbort(folder, server.pid!);
  // By the cheapest check that there is: thousands of connections are made.
  await admin(server.url, `ALTER ROLE CURRENT_USER PASSWORD '${new URL(server.url).password}'`);
  const close = async () => {
    await server.stop('immediate');
    remove();
  };
  return { url: server.url, close };
}

/** A run that is killed cannot clean up. A small shell waits for its end and does: it asks the server to stop at once. */
function removeAfterAbort(folder: string, serverPid: number): void {
  const script =
    'while kill -0 "$1" 2>/dev/null; do sleep 1; done; [ -d "$3" ] && kill -QUIT "$2"; sleep 2; rm -rf "$3"';
  const args = ['-c', script, 'sh', String(process.pid), String(serverPid), folder];
  spawn('/bin/sh', args, { detached: true, stdio: 'ignore', cwd: '/' }).unref();
}

async function admin(url: string, sql: string): Promise<void> {
  const client = await connect(url, 'tests', 60_000);
  await client.query(sql);
  await client.end();
}
