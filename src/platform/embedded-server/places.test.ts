import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { tempFolder } from '../../../test/support/temp-folder.js';
import type { Binaries } from './binaries.js';
import { clusterOwner, findPlaces } from './places.js';
import { serverUser } from './postmaster.js';

const user = serverUser();

function scene(mode: number): { dataDir: string; elsewhere: string; installed: Binaries } {
  const { path, remove } = tempFolder();
  onTestFinished(remove);
  const home = join(path, 'home');
  const bin = join(home, 'native', 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'postgres'), '', { mode: 0o755 });
  mkdirSync(join(home, 'data'));
  chmodSync(home, mode);
  return {
    dataDir: join(home, 'data'),
    elsewhere: join(path, 'lib'),
    installed: { root: join(home, 'native'), major: '18', version: '18.4.0' },
  };
}

describe.runIf(user)('as root, the server runs as another user', () => {
  test('who uses the data directory and the installed programs where that user can reach them', () => {
    const said: string[] = [];
    const { dataDir, elsewhere, installed } = scene(0o755);
    const places = findPlaces(dataDir, installed, user, (line) => said.push(line), elsewhere);
    expect(places).toEqual({ binaries: installed, cluster: join(dataDir, 'postgres-18') });
    expect(said).toEqual([]);
  });

  test('who gets copies elsewhere when the folders are closed, and the start says so', () => {
    const said: string[] = [];
    const { dataDir, elsewhere, installed } = scene(0o700);
    const places = findPlaces(dataDir, installed, user, (line) => said.push(line), elsewhere);
    expect(places.binaries.root).toBe(join(elsewhere, 'postgres-18.4.0'));
    expect(places.cluster.startsWith(elsewhere)).toBe(true);
    expect(said).toHaveLength(1);
    expect(said[0]).toContain(elsewhere);
  });

  test('a database that lies elsewhere stays there when its folder is opened later', () => {
    const { dataDir, elsewhere, installed } = scene(0o700);
    const closed = findPlaces(dataDir, installed, user, () => undefined, elsewhere);
    mkdirSync(closed.cluster);
    writeFileSync(join(closed.cluster, 'PG_VERSION'), '18\n');
    chmodSync(join(dataDir, '..'), 0o755);
    expect(findPlaces(dataDir, installed, user, () => undefined, elsewhere).cluster).toBe(closed.cluster);
  });
});

describe.runIf(user)("the server's user", () => {
  test('of a new database is an account that tasks seldom ask for', () => {
    expect(clusterOwner(scene(0o755).dataDir)).toBeUndefined();
    expect(['postgres', 'daemon', 'bin']).toContain(user?.name);
  });

  test.each(['data', 'lib'])('of one that is there (%s) is its owner, whatever user that is', (place) => {
    const { dataDir, elsewhere, installed } = scene(place === 'data' ? 0o755 : 0o700);
    const { cluster } = findPlaces(dataDir, { ...installed }, user, () => undefined, elsewhere);
    mkdirSync(cluster);
    chownSync(cluster, 65_534, 65_534);
    expect(clusterOwner(dataDir, elsewhere)).toEqual({ uid: 65_534, gid: 65_534 });
    expect(serverUser({ uid: 65_534, gid: 65_534 })).toEqual({ name: 'nobody', uid: 65_534, gid: 65_534 });
  });
});

test('an ordinary user uses the data directory, which is made when missing', () => {
  const { dataDir, elsewhere, installed } = scene(0o700);
  const places = findPlaces(join(dataDir, 'new'), installed, undefined, () => undefined, elsewhere);
  expect(places.cluster).toBe(join(dataDir, 'new', 'postgres-18'));
});
