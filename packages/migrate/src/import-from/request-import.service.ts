import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Deploy } from '../../../../src/core/model/deploy.js';
import type { Request } from '../../../../src/core/model/request.js';
import { diffFields } from '../../../../src/core/plan/index.js';
import { Clock } from '../../../../src/platform/clock.js';
import { Database } from '../../../../src/platform/database/database.js';
import type { Queryable } from '../../../../src/platform/database/queryable.js';
import type { Transaction } from '../../../../src/platform/database/transaction.js';
import { DeployChecks } from '../../../../src/modules/deploys/deploy-checks.service.js';
import { Rows } from '../../../../src/rows.js';
import { DeployDto } from '../../../../src/modules/deploys/dto/deploy.dto.js';
import { RequestDto } from '../../../../src/modules/requests/dto/request.dto.js';
import { RequestChecks } from '../../../../src/modules/requests/request-checks.service.js';
import type { StoredRequest } from '../../../../src/modules/requests/request.repository.js';
import { ImportItemRepository } from './import-item.repository.js';
import { type ImportReport, problemOf } from './import-report.js';
import type { OriginalApi } from './original-api.js';
import { type OriginalParent, readBody, readParent } from './records.js';
import { decideTake, stateHere } from './take.js';

/** User who paused what is held, in its history. */
export const importUser = 'muster import-from';

/** dryRun: looks and says what it would do, and writes nothing. */
export interface ImportRun {
  original: OriginalApi;
  report: ImportReport;
  dryRun: boolean;
}

/** A request of the original that stands our rules, and its active deploy where that does, too. */
interface Readable {
  theirs: OriginalParent;
  fingerprint: string;
  deploy?: Deploy;
}

/** Takes one request with its active deploy, as far as our rules allow it. */
@Injectable()
export class RequestImport {
  constructor(
    private readonly db: Database,
    private readonly rows: Rows,
    private readonly checks: RequestChecks,
    private readonly deployChecks: DeployChecks,
    private readonly items: ImportItemRepository,
    private readonly clock: Clock,
  ) {}

  /** Answers whether the histories of both are of one request, so that what is new there belongs here. */
  async take(listed: OriginalParent, run: ImportRun): Promise<boolean> {
    const { id } = listed.request;
    const known = await this.decide(this.db.pool, listed, await this.rows.requests.find(this.db.pool, id));
    if (known.decision.kind === 'UNCHANGED') {
      run.report.count('requests', 'AS_BEFORE');
      return true;
    }
    if (known.decision.kind === 'LEAVE') {
      run.report.leave('requests', `request ${id}`, known.decision.why);
      return known.decision.copiesHistory;
    }
    // With what the list leaves out: the active deploy, and what lapses.
    const answer = await run.original.find(`requests/request/${encodeURIComponent(id)}`);
    if (answer === undefined) {
      run.report.leave('requests', `request ${id}`, 'it is gone there meanwhile');
      return false;
    }
    try {
      return await this.write(readParent(answer), run);
    } catch (cause) {
      const problem = problemOf(cause);
      if (problem === undefined) throw cause;
      run.report.refuse('requests', `request ${id}`, problem);
      if (!run.dryRun && known.item?.outcome !== 'TAKEN') await this.noteRefused(id, fingerprintOf(listed), problem);
      return known.item?.outcome === 'TAKEN';
    }
  }

  private async write(theirs: OriginalParent, run: ImportRun): Promise<boolean> {
    const request = RequestDto.toRequest(await readBody(theirs.request, RequestDto));
    const { id } = request;
    // First, so that its deploy is not judged beside a request that is refused.
    await this.checks.valid(this.db.pool, request, await this.rows.requests.find(this.db.pool, id), {
      isOlder: true,
    });
    const deploy = await this.deployOf(theirs, request, run);
    const readable = { theirs, fingerprint: fingerprintOf(theirs), deploy };
    const work = (tx: Transaction) => this.store(tx, request, readable, run);
    const outcome = run.dryRun ? await this.db.snapshot(work) : await this.db.transaction(work);
    if (outcome !== 'TAKEN') {
      run.report.leave('requests', `request ${id}`, outcome);
      return false;
    }
    run.report.count('requests', 'TAKEN');
    for (const name of Object.keys(theirs).filter((name) => name.startsWith('expiring'))) {
      run.report.differs(`${name} is not taken: what lapses there stays as it is now`, id);
    }
    if (deploy) this.compareDeploy(theirs['activeDeploy'], deploy, run);
    return true;
  }

  /** Answers TAKEN, or why not. Throws what our rules refuse. */
  private async store(tx: Transaction, sent: Request, readable: Readable, run: ImportRun): Promise<string> {
    const { theirs, deploy } = readable;
    const stored = run.dryRun ? await this.rows.requests.find(tx, sent.id) : await this.rows.requests.lock(tx, sent.id);
    const { decision, item } = await this.decide(tx, theirs, stored);
    if (decision.kind === 'LEAVE') return decision.why;
    const request = await this.checks.valid(tx, sent, stored, { isOlder: true });
    if (run.dryRun) {
      const here = stateHere({ state: theirs.state, requestType: request.requestType }, item?.held ?? false);
      tellDifferences(theirs, { request, ...here, activeDeployId: deploy?.id }, run.report);
      return 'TAKEN';
    }
    const now = this.clock.now();
    const wasHeld = stored !== undefined && (item?.held ?? false);
    const { state, held } = stateHere({ state: theirs.state, requestType: request.requestType }, wasHeld);
    const marker = theirs.requestDeployState?.activeDeploy;
    if (deploy && marker) await this.rows.deployHistory.takeOver(tx, [{ deployMarker: marker, deploy }]);
    const next = { request, state, changedAt: now, activeDeployId: deploy?.id, bouncing: false };
    const version = await this.put(tx, stored, next);
    if (version === undefined) return 'a request of this id came here meanwhile';
    if (held && !wasHeld) {
      const message = `Held until it is handed over: it runs at ${run.original.address}`;
      await this.rows.requestHistory.takeOver(tx, [
        { request, createdAt: now, eventType: 'PAUSED', user: importUser, message },
      ]);
    }
    const { fingerprint } = readable;
    await this.items.note(tx, { kind: 'REQUEST', key: request.id, outcome: 'TAKEN', fingerprint, version, held }, now);
    return 'TAKEN';
  }

  /** Answers its version; undefined: another one came in between. */
  private async put(
    tx: Transaction,
    stored: StoredRequest | undefined,
    next: Omit<StoredRequest, 'version'>,
  ): Promise<number | undefined> {
    if (stored) return (await this.rows.requests.save(tx, { ...stored, ...next })).version;
    return (await this.rows.requests.insert(tx, { ...next, version: 1 })) ? 1 : undefined;
  }

  private async decide(tx: Queryable, theirs: OriginalParent, stored: StoredRequest | undefined) {
    const item = await this.items.find(tx, 'REQUEST', theirs.request.id);
    const fingerprint = fingerprintOf(theirs);
    return { item, decision: decideTake({ state: theirs.state, fingerprint }, stored, item) };
  }

  /** undefined: there is none, or our rules refuse it, which is said. The request is taken without it then. */
  private async deployOf(theirs: OriginalParent, request: Request, run: ImportRun): Promise<Deploy | undefined> {
    const { activeDeploy: marker, pendingDeploy } = theirs.requestDeployState ?? {};
    if (pendingDeploy) {
      const what = 'a deploy is in progress there; run the import again when it has ended';
      run.report.differs(what, `${request.id} ${pendingDeploy.deployId}`);
    }
    if (!marker) return undefined;
    const name = `active deploy ${marker.deployId} of request ${request.id}`;
    try {
      const deploy = DeployDto.toDeploy(await readBody(theirs['activeDeploy'] ?? {}, DeployDto));
      await this.deployChecks.refuseUsers(deploy);
      await this.deployChecks.checkDeploy(this.db.pool, deploy, request, this.clock.now());
      return deploy;
    } catch (cause) {
      const problem = problemOf(cause);
      if (problem === undefined) throw cause;
      run.report.say(`refused: ${name}: ${problem}. The request is taken without it`);
      return undefined;
    }
  }

  private compareDeploy(theirs: unknown, ours: Deploy, { report }: ImportRun): void {
    for (const { path } of differencesOf(theirs, ours, 'deploy')) {
      report.differs(`${path} is otherwise here`, `${ours.requestId} ${ours.id}`);
    }
  }

  private noteRefused(key: string, fingerprint: string, reason: string): Promise<void> {
    const now = this.clock.now();
    return this.db.transaction((tx) =>
      this.items.note(tx, { kind: 'REQUEST', key, outcome: 'REFUSED', fingerprint, reason }, now),
    );
  }
}

/** Digest of the content of a list about a request, in whatever order its members come. */
export const fingerprintOf = ({ request, state, requestDeployState }: OriginalParent): string =>
  digest({ request, state, requestDeployState });

export const digest = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value, sorted)).digest('base64url');

const sorted = (_name: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;

/** Reports the differences between the lists of both sides for one request. */
export function tellDifferences(
  theirs: OriginalParent,
  ours: Pick<StoredRequest, 'request' | 'state' | 'activeDeployId'> & { held: boolean },
  report: ImportReport,
): void {
  const { id } = theirs.request;
  const why = ours.held ? ', held until they are handed over' : '';
  if (ours.state !== theirs.state)
    report.differs(`requests that are ${theirs.state} there and ${ours.state} here${why}`, id);
  if (theirs.requestDeployState?.activeDeploy?.deployId !== ours.activeDeployId) {
    report.differs('requests whose active deploy is another one here', id);
  }
  for (const { path } of differencesOf(theirs.request, ours.request, 'request')) {
    report.differs(`${path} is otherwise here`, id);
  }
}

/** Fields that are there and otherwise here; what we fill in by ourselves is no difference. */
const differencesOf = (theirs: unknown, ours: unknown, path: string) =>
  diffFields(theirs, ours, path).filter(({ from }) => from !== undefined && !isEmpty(from));

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;
