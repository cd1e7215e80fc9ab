import { HttpErrorException, type Args, type Service } from 'rest-contract';
import type { BalancerRequestBody, Upstream } from '../../../src/core/load-balancer/index.js';
import type { LoadBalancerState } from '../../../src/core/model/enums.js';
import type {
  BalancerAnswer,
  BalancerStateApi,
  LoadBalancerApi,
} from '../../../src/platform/load-balancer/http-load-balancer.js';
import { waitFor } from '../wait-for.js';

type Changes = Service<typeof LoadBalancerApi>;
type Services = Service<typeof BalancerStateApi>;

interface Change {
  request: BalancerRequestBody;
  state: LoadBalancerState;
  message?: string;
}

/** State that a new change gets at first: SUCCESS unless the script says otherwise. */
export type Script = (
  request: BalancerRequestBody,
) => LoadBalancerState | { loadBalancerState: LoadBalancerState; message: string } | undefined;

/** A service as a proxy sees it. */
export interface ServingService {
  basePath: string;
  upstreams: Upstream[];
}

/** Keeps services and their upstreams as a load balancer does: a change is carried out once, however often it is sent. */
export class Balancer implements Changes, Services {
  /** Upstreams by service, as traffic would go. */
  readonly serving = new Map<string, Upstream[]>();
  /** Everything that was sent, repetitions included. */
  readonly received: BalancerRequestBody[] = [];
  script: Script = () => undefined;
  /** Runs between a change and the answer to it. */
  beforeAnswer: () => Promise<void> = () => Promise.resolve();
  private readonly basePaths = new Map<string, string>();
  private readonly changes = new Map<string, Change>();

  /** `changed` runs before the answer goes out: who is told SUCCESS can rely on it. */
  constructor(
    private readonly changed: (services: Map<string, ServingService>) => Promise<void> = () => Promise.resolve(),
  ) {}

  async enqueue({ request }: Args<typeof LoadBalancerApi, 'enqueue'>): Promise<BalancerAnswer> {
    this.received.push(request);
    const id = request.loadBalancerRequestId;
    const known = this.changes.get(id);
    if (known) {
      if (JSON.stringify(known.request) === JSON.stringify(request)) return answerOf(known);
      return { loadBalancerState: 'FAILED', message: `Request ${id} is already enqueued with different parameters` };
    }
    const said = this.script(request) ?? 'SUCCESS';
    const change: Change =
      typeof said === 'string' ? { request, state: said } : { request, state: said.loadBalancerState, ...said };
    this.changes.set(id, change);
    await this.carryOut(change);
    await this.beforeAnswer();
    return answerOf(change);
  }

  state({ changeId }: Args<typeof LoadBalancerApi, 'state'>): Promise<BalancerAnswer> {
    return Promise.resolve(answerOf(this.find(changeId)));
  }

  cancel({ changeId }: Args<typeof LoadBalancerApi, 'cancel'>): Promise<BalancerAnswer> {
    const change = this.find(changeId);
    if (change.state === 'WAITING') change.state = 'CANCELED';
    return Promise.resolve(answerOf(change));
  }

  service({ serviceId }: Args<typeof BalancerStateApi, 'service'>): Promise<{ upstreams: Upstream[] }> {
    const upstreams = this.serving.get(serviceId);
    return upstreams ? Promise.resolve({ upstreams }) : Promise.reject(new HttpErrorException(404, 'No such service'));
  }

  /** Ends a change that takes its time. */
  async settle(changeId: string, state: LoadBalancerState): Promise<void> {
    const change = this.find(changeId);
    change.state = state;
    await this.carryOut(change);
  }

  /** Resolves when a change of this id has arrived. */
  seen(changeId: string): Promise<unknown> {
    return waitFor(`the change ${changeId}`, () => this.changes.has(changeId));
  }

  /** As a new one, without services and without memory. */
  reset(): void {
    this.serving.clear();
    this.changes.clear();
    this.received.length = 0;
    this.script = () => undefined;
    this.beforeAnswer = () => Promise.resolve();
  }

  /** Addresses behind a service, sorted. */
  upstreams(serviceId: string): string[] {
    return (this.serving.get(serviceId) ?? []).map(({ upstream }) => upstream).sort();
  }

  private services(): Map<string, ServingService> {
    return new Map(
      [...this.serving].map(([id, upstreams]) => [id, { basePath: this.basePaths.get(id) ?? '/', upstreams }]),
    );
  }

  private find(changeId: string): Change {
    const change = this.changes.get(changeId);
    if (!change) throw new HttpErrorException(404, `No change with id ${changeId}`);
    return change;
  }

  private async carryOut({ request, state }: Change): Promise<void> {
    if (state !== 'SUCCESS') return;
    const { serviceId, serviceBasePath = '/' } = request.loadBalancerService;
    this.basePaths.set(serviceId, serviceBasePath);
    if (request.action === 'DELETE') this.serving.delete(serviceId);
    else this.serving.set(serviceId, merged(this.serving.get(serviceId) ?? [], request));
    await this.changed(this.services());
  }
}

const answerOf = ({ state, message }: Change): BalancerAnswer => ({ loadBalancerState: state, message });

function merged(former: readonly Upstream[], { addUpstreams, removeUpstreams }: BalancerRequestBody): Upstream[] {
  const gone = new Set([...removeUpstreams, ...addUpstreams].map(({ upstream }) => upstream));
  return [...former.filter(({ upstream }) => !gone.has(upstream)), ...addUpstreams];
}
