import { Injectable } from '@nestjs/common';
import { disableableActions } from '../../../../src/core/disasters/index.js';
import type { ActionType } from '../../../../src/core/model/enums.js';
import type { DisabledAction } from '../../../../src/core/model/state.js';
import { DisabledActionRepository } from '../../../../src/platform/actions/disabled-action.repository.js';
import { Clock } from '../../../../src/platform/clock.js';
import { Database } from '../../../../src/platform/database/database.js';
import { SchedulerError } from '../../../../src/platform/errors.js';
import { normalizeBody } from '../../../../src/platform/http/bodies.js';
import { Wake } from '../../../../src/platform/wake/wake.js';
import { RequestGroupDto } from '../../../../src/modules/requests/groups/request-group.dto.js';
import { RequestGroupsService } from '../../../../src/modules/requests/groups/request-groups.service.js';
import { InactiveMachines } from '../../../../src/modules/slaves/inactive-hosts/inactive-machines.service.js';
import { NotificationsService } from '../../../../src/modules/users/notifications.service.js';
import { WebhookDto } from '../../../../src/modules/webhooks/webhooks.dto.js';
import { Webhooks } from '../../../../src/modules/webhooks/webhooks.service.js';
import type { ImportKind } from './import-item.entity.js';
import { ImportItemRepository } from './import-item.repository.js';
import { type ImportedThing, problemOf } from './import-report.js';
import { readBody } from './records.js';
import { digest, type ImportRun } from './request-import.service.js';

/** One short list of the original, and how each of its entries is taken. */
interface ListToTake<T> {
  kind: ImportKind;
  thing: ImportedThing;
  theirs: unknown[];
  /** Name of an entry that cannot be read. Without credentials. */
  nameOf: (answer: unknown) => string;
  /** As a call of our API would bring it; throws what our rules refuse. */
  read: (answer: unknown) => T | Promise<T>;
  key: (entry: T) => string;
  /** The members by which it is equal here and there. */
  content: (entry: T) => unknown;
  /** Entries that are here, by their keys, with the digest of their content. */
  here: ReadonlyMap<string, string>;
  take: (entry: T) => Promise<unknown>;
}

/** Takes what belongs to no single request. An entry that was taken once and removed here since does not come back. */
@Injectable()
export class ListImport {
  constructor(
    private readonly db: Database,
    private readonly items: ImportItemRepository,
    private readonly groups: RequestGroupsService,
    private readonly webhooks: Webhooks,
    private readonly notifications: NotificationsService,
    private readonly actions: DisabledActionRepository,
    private readonly hosts: InactiveMachines,
    private readonly wake: Wake,
    private readonly clock: Clock,
  ) {}

  async take(run: ImportRun): Promise<void> {
    await this.takeGroups(run);
    await this.takeWebhooks(run);
    await this.takeAddresses(run);
    await this.takeActions(run);
    await this.takeHosts(run);
    await this.nameMachines(run);
  }

  private async takeGroups(run: ImportRun): Promise<void> {
    const content = ({ id, requestIds, metadata = {} }: RequestGroupDto) => ({ id, requestIds, metadata });
    await this.each(run, {
      kind: 'GROUP',
      thing: 'groups',
      theirs: await run.original.list('groups'),
      nameOf: (answer) => String((answer as Partial<RequestGroupDto>).id),
      read: (answer) => readBody(answer, RequestGroupDto),
      key: ({ id }) => id,
      content,
      here: byKey(await this.groups.list(), ({ id }) => id, content),
      take: (group) => this.groups.save(group),
    });
  }

  private async takeWebhooks(run: ImportRun): Promise<void> {
    const content = ({ type, uri }: Pick<WebhookDto, 'type' | 'uri'>) => `${type}-${uri}`;
    await this.each(run, {
      kind: 'WEBHOOK',
      thing: 'webhooks',
      theirs: await run.original.list('webhooks'),
      nameOf: (answer) => String((answer as Partial<WebhookDto>).uri).replace(/\/\/[^/]*@/, '//***@'),
      read: (answer) => readBody(answer, WebhookDto),
      key: content,
      content,
      here: byKey(await this.webhooks.list(), content, content),
      take: (webhook) => this.webhooks.register(webhook),
    });
  }

  /** Newer versions call the list otherwise. */
  private async takeAddresses(run: ImportRun): Promise<void> {
    const found =
      (await run.original.find('notifications/blocklist')) ?? (await run.original.list('notifications/blacklist'));
    const content = (address: string) => address.toLowerCase();
    await this.each(run, {
      kind: 'ADDRESS',
      thing: 'mail addresses',
      theirs: found as unknown[],
      nameOf: String,
      read: text,
      key: content,
      content,
      here: byKey(await this.notifications.list(), content, content),
      take: (address) => this.notifications.unsubscribe(address),
    });
  }

  /**
   * Takes disabled actions, but not those that a disaster there switched off: they come back with its end, of which
   * nothing is known here.
   */
  private async takeActions(run: ImportRun): Promise<void> {
    const found = (await run.original.list('disasters/disabled-actions')).map((answer) => normalizeBody(answer, true));
    const byOperators = found.filter((answer) => !(answer as DisabledAction).automaticallyClearable);
    const content = ({ type, message }: DisabledAction) => ({ type, message });
    await this.each(run, {
      kind: 'ACTION',
      thing: 'disabled actions',
      theirs: byOperators,
      nameOf: (answer) => String((answer as Partial<DisabledAction>).type),
      read: readAction,
      key: ({ type }) => type,
      content,
      here: byKey([...(await this.actions.all(this.db.pool)).values()], ({ type }) => type, content),
      take: async (action) => {
        await this.db.transaction((tx) => this.actions.disable(tx, action));
        this.wake.signal('actions');
      },
    });
  }

  private async takeHosts(run: ImportRun): Promise<void> {
    const same = (host: string) => host;
    await this.each(run, {
      kind: 'HOST',
      thing: 'inactive hosts',
      theirs: await run.original.list('inactive'),
      nameOf: String,
      read: text,
      key: same,
      content: same,
      here: byKey(await this.hosts.list(), same, same),
      take: (host) => this.hosts.mark(host),
    });
  }

  /** A machine has another id and life here: what an operator decided about it there is only told. */
  private async nameMachines({ original, report }: ImportRun): Promise<void> {
    for (const kind of ['slaves', 'racks'] as const) {
      for (const answer of await original.list(kind)) {
        const { host, id, currentState } = answer as { host?: string; id?: string; currentState?: { state?: string } };
        const state = currentState?.state;
        if (state === undefined || !/^(FROZEN|.*DECOMMISSION.*)$/.test(state)) continue;
        report.differs(`${kind} that are ${state} there; states of machines are not taken`, host ?? id ?? '?');
      }
    }
  }

  private async each<T>(run: ImportRun, list: ListToTake<T>): Promise<void> {
    for (const answer of list.theirs) await this.takeOne(run, list, answer);
  }

  private async takeOne<T>({ report, dryRun }: ImportRun, list: ListToTake<T>, answer: unknown): Promise<void> {
    const { kind, thing } = list;
    let name = `${thing}: ${list.nameOf(answer)}`;
    try {
      const entry = await list.read(answer);
      const key = list.key(entry);
      name = `${thing}: ${key}`;
      const fingerprint = digest(list.content(entry));
      const known = await this.items.find(this.db.pool, kind, key);
      const here = list.here.get(key);
      if (here === fingerprint) return report.count(thing, 'AS_BEFORE');
      if (known?.outcome === 'TAKEN' && known.fingerprint === fingerprint) {
        return report.leave(thing, name, 'it was changed or removed here since it was taken');
      }
      if (here !== undefined && known?.outcome !== 'TAKEN') {
        return report.leave(thing, name, 'there is another one here that did not come from there');
      }
      if (dryRun) return report.count(thing, 'TAKEN');
      await list.take(entry);
      const note = { kind, key, outcome: 'TAKEN', fingerprint } as const;
      await this.db.transaction((tx) => this.items.note(tx, note, this.clock.now()));
      report.count(thing, 'TAKEN');
    } catch (cause) {
      const problem = problemOf(cause);
      if (problem === undefined) throw cause;
      report.refuse(thing, name, problem);
    }
  }
}

const byKey = <T>(entries: readonly T[], key: (entry: T) => string, content: (entry: T) => unknown) =>
  new Map(entries.map((entry) => [key(entry), digest(content(entry))]));

function text(answer: unknown): string {
  if (typeof answer === 'string' && answer !== '') return answer;
  throw SchedulerError.invalid('INVALID_REQUEST', [{ field: '', rule: 'type', message: 'it must be a text' }]);
}

function readAction(answer: unknown): DisabledAction {
  const { type, message = '', user, expiresAt } = answer as Partial<DisabledAction>;
  const isKnown = disableableActions.includes(type as ActionType);
  if (isKnown)
    return { type: type as ActionType, message: String(message), user, expiresAt, automaticallyClearable: false };
  const problem = { field: 'type', rule: 'canBeDisabled', message: `action ${String(type)} cannot be disabled here` };
  throw SchedulerError.invalid('INVALID_REQUEST', [problem]);
}
