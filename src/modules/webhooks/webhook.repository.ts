import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { WebhookDeadLetterEntity } from './webhook-dead-letter.entity.js';
import { WebhookUpdateEntity } from './webhook-update.entity.js';
import { WebhookEntity } from './webhook.entity.js';
import type { Queryable } from '../../platform/database/queryable.js';
import type { Transaction } from '../../platform/database/transaction.js';

type NewWebhookRow = Pick<WebhookEntity, 'id' | 'uri' | 'webhookType' | 'createdAt' | 'userName' | 'secret'>;

/** Webhooks, and the updates for them that were given up. */
@Injectable()
export class WebhookRepository {
  /** In the order of ids. */
  all(tx: Queryable): Promise<WebhookEntity[]> {
    return tx.getRepository(WebhookEntity).find({ order: { id: 'ASC' } });
  }

  /** Every webhook with the number of updates that wait for it, in the order of ids. */
  async queueSizes(tx: Queryable): Promise<{ webhook: WebhookEntity; queueSize: number }[]> {
    const { entities, raw } = await tx
      .getRepository(WebhookEntity)
      .createQueryBuilder('webhook')
      .addSelect(
        (waiting) =>
          waiting.select('count(*)::int').from(WebhookUpdateEntity, 'waiting').where('waiting.webhook_id = webhook.id'),
        'queue_size',
      )
      .orderBy('webhook.id')
      .getRawAndEntities<{ queue_size: number }>();
    return entities.map((webhook, position) => ({ webhook, queueSize: raw[position]!.queue_size }));
  }

  /** false: there is one of this id, which stays as it is. */
  async add(tx: Transaction, webhook: NewWebhookRow): Promise<boolean> {
    const inserted = await tx
      .getRepository(WebhookEntity)
      .createQueryBuilder()
      .insert()
      .values(webhook)
      .orIgnore()
      .returning('id')
      .updateEntity(false)
      .execute();
    return (inserted.raw as unknown[]).length > 0;
  }

  /** With all that waits for them, and their dead letters. false: there was none of these ids. */
  async remove(tx: Transaction, ids: readonly string[]): Promise<boolean> {
    const gone = await tx
      .getRepository(WebhookEntity)
      .createQueryBuilder()
      .delete()
      .where({ id: In(ids) })
      .returning('id')
      .execute();
    const goneIds = (gone.raw as { id: string }[]).map(({ id }) => id);
    await tx.getRepository(WebhookDeadLetterEntity).delete({ webhookId: In(goneIds) });
    return goneIds.length > 0;
  }

  find(tx: Queryable, ids: readonly string[]): Promise<WebhookEntity | null> {
    return tx.getRepository(WebhookEntity).findOneBy({ id: In(ids) });
  }

  /** Newest first; of the webhooks of these ids, or of all. */
  deadLetters(
    tx: Queryable,
    ids: readonly string[] | undefined,
    count: number,
    offset: number,
  ): Promise<WebhookDeadLetterEntity[]> {
    return tx.getRepository(WebhookDeadLetterEntity).find({
      where: ids && { webhookId: In(ids) },
      order: { id: 'DESC' },
      take: count,
      skip: offset,
    });
  }
}
