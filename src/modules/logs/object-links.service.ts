import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../../platform/clock.js';
import { SchedulerError } from '../../platform/errors.js';
import { ThisInstance } from '../../platform/leadership/this-instance.js';
import { SETTINGS, type Settings } from '../../platform/settings/settings.js';

/** The object that a link opens, and the time until which it does. */
export interface ObjectLink {
  bucket: string;
  key: string;
  /** Epoch seconds. */
  expires: number;
  /** It is saved and not shown. */
  attachment: boolean;
}

/**
 * Links to objects of the folder, which work for all who have them until they expire: they are signed with a key that lies in
 * the data directory, so that each instance on it takes the links of the others.
 */
@Injectable()
export class ObjectLinks {
  private key: Buffer | undefined;

  constructor(
    private readonly instance: ThisInstance,
    private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  make(object: Omit<ObjectLink, 'expires'>, validSeconds: number): string {
    const link = { ...object, expires: Math.floor(this.clock.now() / 1_000) + validSeconds };
    const query = new URLSearchParams({
      bucket: link.bucket,
      key: link.key,
      expires: String(link.expires),
      ...(link.attachment && { attachment: 'true' }),
      signature: this.sign(link),
    });
    return `${this.instance.address() ?? ''}/api/logs/object?${query.toString()}`;
  }

  /** Refuses in the same way for all that is wrong: the answer does not tell which objects exist. */
  check(link: ObjectLink, signature: string): void {
    const [mine, given] = [Buffer.from(this.sign(link)), Buffer.from(signature)];
    const isMine = given.length === mine.length && timingSafeEqual(given, mine);
    if (isMine && this.clock.now() < link.expires * 1_000) return;
    throw new SchedulerError('LINK_NOT_VALID', 'The link is not valid, or not any more: ask for the logs again');
  }

  private sign({ bucket, key, expires, attachment }: ObjectLink): string {
    this.key ??= sharedKey(join(this.settings.dataDir, 'log-links.key'));
    return createHmac('sha256', this.key)
      .update(JSON.stringify([bucket, key, expires, attachment]))
      .digest('base64url');
  }
}

const keyBytes = 32;

/** Made by the first who needs it, whole or not at all. */
function sharedKey(path: string): Buffer {
  const mine = `${path}.${randomBytes(4).toString('hex')}.new`;
  for (;;) {
    try {
      return readFileSync(path).subarray(0, keyBytes);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
    }
    try {
      writeFileSync(mine, randomBytes(keyBytes), { flag: 'wx', mode: 0o600 });
      linkSync(mine, path);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
    } finally {
      rmSync(mine, { force: true });
    }
  }
}
