import type { PoolClient } from 'pg';
import {
  type AfterQueryEvent,
  type BeforeQueryEvent,
  type EntitySubscriberInterface,
  EventSubscriber,
  type TransactionStartEvent,
} from 'typeorm';
import { isOfServer, Transaction } from './transaction.js';

const transactionOf = ({ queryRunner }: Pick<BeforeQueryEvent, 'queryRunner'>): Transaction | undefined => {
  const found: unknown = queryRunner?.data['transaction'];
  return found instanceof Transaction ? found : undefined;
};

/** Makes TypeORM keep to the transaction that its statements are part of. It waits for what is answered here. */
@EventSubscriber()
export class TransactionSubscriber implements EntitySubscriberInterface {
  async beforeQuery(event: BeforeQueryEvent): Promise<void> {
    await transactionOf(event)?.ready();
  }

  async afterQuery(event: AfterQueryEvent): Promise<void> {
    if (event.success) return;
    const transaction = transactionOf(event);
    if (transaction) transaction.failed(event.error);
    // The pool takes no connection back that is ending.
    else if (!isOfServer(event.error)) void ((await event.queryRunner?.connect()) as PoolClient | undefined)?.end();
  }

  /** `save` and `remove` would: they would commit what is not theirs. */
  beforeTransactionStart(event: TransactionStartEvent): void {
    if (transactionOf(event)) throw new Error('A transaction has begun already: use insert, update, upsert or delete');
  }
}
