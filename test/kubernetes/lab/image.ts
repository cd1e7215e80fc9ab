import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { outputOf, tried } from './daemon.js';

export const testImage = 'muster.test/busybox:1';
export const pauseImage = 'muster.test/pause:1';

interface ImageParts {
  command: readonly string[];
  /** Further names of it. */
  aliases?: readonly string[];
  /** Programs of this machine, by their paths: they are there in /bin, with the libraries that they need. */
  programs?: readonly string[];
}

/** An archive of an image, as engines load it, in which there is busybox with all its programs. */
export async function makeImage(folder: string, name: string, parts: ImageParts): Promise<string> {
  const work = join(folder, name.replaceAll(/[^a-z0-9]/g, '-'));
  for (const each of ['bin', 'tmp', 'etc', 'proc', 'sys', 'dev'])
    mkdirSync(join(work, 'root', each), { recursive: true });
  chmodSync(join(work, 'root/tmp'), 0o1777);
  copyFileSync('/bin/busybox', join(work, 'root/bin/busybox'));
  const programs = (await outputOf('/bin/busybox', '--list')).split('\n').filter((each) => each && each !== 'busybox');
  for (const program of programs) symlinkSync('busybox', join(work, 'root/bin', program));
  for (const program of parts.programs ?? []) {
    const target = join(work, 'root/bin', basename(program));
    // One of busybox by that name is a link to it.
    rmSync(target, { force: true });
    copyFileSync(program, target);
    // A program without libraries is no mistake.
    const libraries = (await tried('ldd', program)).match(/\/\S+(?= \()/g) ?? [];
    if (libraries.length > 0) await outputOf('cp', '-L', '--parents', ...libraries, join(work, 'root'));
  }
  writeFileSync(join(work, 'root/etc/passwd'), 'root:x:0:0:root:/:/bin/sh\n');
  await outputOf('tar', '-C', join(work, 'root'), '--owner=0', '--group=0', '-cf', join(work, 'layer.tar'), '.');
  const digest = createHash('sha256')
    .update(readFileSync(join(work, 'layer.tar')))
    .digest('hex');
  const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
  const config = { Cmd: parts.command, Env: ['PATH=/bin'] };
  const rootfs = { type: 'layers', diff_ids: [`sha256:${digest}`] };
  writeFileSync(join(work, 'config.json'), JSON.stringify({ architecture, os: 'linux', config, rootfs }));
  const manifest = [{ Config: 'config.json', RepoTags: [name, ...(parts.aliases ?? [])], Layers: ['layer.tar'] }];
  writeFileSync(join(work, 'manifest.json'), JSON.stringify(manifest));
  const archive = `${work}.tar`;
  await outputOf('tar', '-C', work, '-cf', archive, 'manifest.json', 'config.json', 'layer.tar');
  return archive;
}
