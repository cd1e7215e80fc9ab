import type { RequestEventType } from '../../src/core/model/enums.js';
import type { Request, RequestHistory } from '../../src/core/model/request.js';
import type { Api } from '../e2e/support/api.js';

/** Requests that may be changed, scaled, paused or deleted by any call. */
const requests: readonly Request[] = [
  { id: 'practice-service', requestType: 'SERVICE', instances: 2 },
  { id: 'practice-job', requestType: 'ON_DEMAND' },
];
export const practiceIds = requests.map(({ id }) => id);

const everyMillis = 1_000;

/** Keeps the requests to practise on there and running while calls are made that may end them. */
export class Practice {
  private deploys = 0;
  private readonly timer = setInterval(() => void this.restore(), everyMillis);
  private restoring = false;

  constructor(private readonly api: Api) {}

  async restore(): Promise<void> {
    if (this.restoring) return;
    this.restoring = true;
    try {
      for (const request of requests) await this.restoreOne(request);
    } finally {
      this.restoring = false;
    }
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** Events in their history. */
  async events(): Promise<RequestEventType[]> {
    const histories = await Promise.all(
      practiceIds.map((id) => this.api.get<RequestHistory[]>(`history/request/${id}/requests?count=1000`)),
    );
    return histories.flat().map(({ eventType }) => eventType);
  }

  private async restoreOne(request: Request): Promise<void> {
    const found = await this.api.request(request.id).catch(() => undefined);
    // Whatever is refused now is tried again: the calls go on meanwhile.
    if (found?.state === 'PAUSED') await this.api.post(`requests/request/${request.id}/unpause`).catch(() => undefined);
    if (found?.activeDeploy ?? found?.pendingDeploy) return;
    const deploy = { requestId: request.id, id: `v${++this.deploys}`, command: 'exec sleep 600' };
    const resources = { cpus: 0.1, memoryMb: 16, numPorts: 0, diskMb: 0 };
    if (!found) await this.api.saveRequest(request).catch(() => undefined);
    await this.api.deploy({ ...deploy, resources }).catch(() => undefined);
  }
}
