import { createHmac, timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { SchedulerError } from '../../platform/errors.js';
import { Rows } from '../../rows.js';

/** The object that a link opens, and the time until which it does. */
export interface ObjectLink {
  bucket: string;
  key: string;
  /** Epoch seconds. */
  expires: number;
  /** It is saved and not shown. */
  attachment: boolean;
}

/** Links to objects of the folder, which work for all who have them until they expire. Each instance takes the links of the others. */
@Injectable()
export class ObjectLinks {
  private key: Buffer | undefined;

  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly clock: Clock,
  ) {}

  /** Relative to the root of the service. */
  async make(object: Omit<ObjectLink, 'expires'>, validSeconds: number): Promise<string> {
    const link = { ...object, expires: Math.floor(this.clock.now() / 1_000) + validSeconds };
    const query = new URLSearchParams({
      bucket: link.bucket,
      key: link.key,
      expires: String(link.expires),
      ...(link.attachment && { attachment: 'true' }),
      signature: await this.sign(link),
    });
    return `api/logs/object?${query.toString()}`;
  }

  /** Refuses in the same way for all that is wrong: the answer does not tell which objects exist. */
  async check(link: ObjectLink, signature: string): Promise<void> {
    const [mine, given] = [Buffer.from(await this.sign(link)), Buffer.from(signature)];
    const isMine = given.length === mine.length && timingSafeEqual(given, mine);
    if (isMine && this.clock.now() < link.expires * 1_000) return;
    throw new SchedulerError('LINK_NOT_VALID', 'The link is not valid, or not any more: ask for the logs again');
  }

  private async sign({ bucket, key, expires, attachment }: ObjectLink): Promise<string> {
    this.key ??= await this.db.transaction((tx) => this.rows.logLinkKey.key(tx));
    return createHmac('sha256', this.key)
      .update(JSON.stringify([bucket, key, expires, attachment]))
      .digest('base64url');
  }
}
